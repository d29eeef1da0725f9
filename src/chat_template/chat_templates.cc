#include "polystate/chat_template/chat_templates.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/chat_messages.h"
#include "chat_template/python_text.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/folder_files.h"
#include "core/json.h"
#include "core/json_cursor.h"
#include "core/json_text.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/named_files.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using chat_template::Dict;
using chat_template::Origin;
using chat_template::Value;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{16} << 20U;
constexpr std::string_view kDefault = "default";
constexpr std::string_view kForTools = "tool_use";

constexpr auto kSpecialTokens = std::to_array<std::string_view>(
    {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"});

// Names of variables that a template is given otherwise.
constexpr auto kTaken =
    std::to_array<std::string_view>({"messages", "tools", "documents", "add_generation_prompt"});

// A file where it is there; none where it is not.
Result<std::optional<std::string>> read_optional(const NamedFiles& files, const std::string& name) {
  if (!files.has(name)) return std::optional<std::string>();
  Result<std::string> text = files.read(name, kMaxFileBytes);
  if (!text) return text.error();
  return std::optional(std::move(*text));
}

Status check_dicts(const Value& values, std::string_view what) {
  if (values.is_none()) return {};
  if (!values.is_sequence()) {
    return Error{ErrorCode::kContract,
                 std::string(what) + " are a list of dictionaries, not a " + values.type_name()};
  }
  for (const Value& value : values.elements()) {
    if (value.kind() == Value::Kind::kDict) continue;
    return Error{
        ErrorCode::kContract,
        std::string(what) + " are dictionaries, as JSON schemas are, not a " + value.type_name()};
  }
  return {};
}

}  // namespace

// Reads a model's files, which it borrows.
class ChatTemplatesReader {
 public:
  explicit ChatTemplatesReader(const NamedFiles& files) : files_(&files) {}

  Result<ChatTemplates> read() {
    if (const Status done = read_config(); !done) return done.error();
    if (const Status done = read_token_map(); !done) return done.error();
    if (const Status done = read_files(); !done) return done.error();
    return std::move(templates_);
  }

 private:
  void add(const std::string& name, std::string_view source) {
    templates_.templates_.insert_or_assign(name, ChatTemplate::parse(source));
  }

  // A JSON document where there is one, with names that may be repeated, as Python takes it.
  Result<std::optional<Json>> read_json(const std::string& name) {
    Result<std::optional<std::string>> text = read_optional(*files_, name);
    if (!text) return text.error();
    if (!*text) return std::optional<Json>();
    JsonLimits limits;
    limits.names_may_repeat = true;
    limits.rounds_large_integers = true;  // model_max_length, for one
    Result<Json> json = parse_json(**text, limits);
    if (!json) return Error{json.error().code, name + ": " + json.error().message};
    return std::optional(std::move(*json));
  }

  Status read_config() {
    Result<std::optional<Json>> json = read_json("tokenizer_config.json");
    if (!json) return json.error();
    if (!*json) return {};
    Status status;
    const JsonCursor root(**json, status, "tokenizer_config.json");
    for (const auto& [name, value] : root.fields()) add_special_token(name, value);
    for (const std::string_view more : {"extra_special_tokens", "model_specific_special_tokens"}) {
      const auto tokens = root.optional(more);
      if (!tokens || !tokens->is_object()) continue;
      for (const auto& [name, value] : tokens->fields()) add_named_token(name, value);
    }
    has_added_tokens_ = root.optional("added_tokens_decoder").has_value();
    if (const auto control = root.optional("chat_control_tokens")) {
      std::vector<std::string>& tokens = templates_.control_tokens_.emplace();
      tokens.reserve(control->elements().size());
      for (const JsonCursor& token : control->elements()) tokens.push_back(token.string());
    }
    if (const auto given = root.optional("chat_template")) read_config_templates(*given);
    const Json::Object* const object = (*json)->object();
    const Json* const response = object == nullptr ? nullptr : object->find("response_template");
    if (response != nullptr && !response->is_null())
      templates_.response_template_ = json_text(*response);
    return status;
  }

  // One template, or several: a list of those with names, or a dictionary.
  void read_config_templates(const JsonCursor& given) {
    if (given.is_string()) return add(std::string(kDefault), given.string());
    templates_.has_names_ = true;
    if (given.is_array()) {
      for (const JsonCursor& one : given.elements())
        add(one["name"].string(), one["template"].string());
      return;
    }
    for (const auto& [name, source] : given.fields()) add(std::string(name), source.string());
  }

  // A token's text, as a string or as an object with its content.
  void add_named_token(std::string_view name, const JsonCursor& value) {
    if (value.is_string()) {
      templates_.special_tokens_[std::string(name)] = value.string();
    } else if (value.is_object()) {
      if (const auto content = value.optional("content"))
        templates_.special_tokens_[std::string(name)] = content->string();
    }
  }

  void add_special_token(std::string_view name, const JsonCursor& value) {
    const bool is_known = std::ranges::find(kSpecialTokens, name) != kSpecialTokens.end();
    if (is_known || (name.ends_with("_token") && value.is_string())) add_named_token(name, value);
  }

  // The older file of special tokens, which counts where the newer one lists no tokens.
  Status read_token_map() {
    if (has_added_tokens_) return {};
    Result<std::optional<Json>> json = read_json("special_tokens_map.json");
    if (!json) return json.error();
    if (!*json) return {};
    Status status;
    const JsonCursor root(**json, status, "special_tokens_map.json");
    for (const auto& [name, value] : root.fields()) {
      if (name.ends_with("_token")) add_named_token(name, value);
    }
    return status;
  }

  // Files of templates, which take the place of those in the configuration.
  Status read_files() {
    std::map<std::string, std::string> found;
    Result<std::optional<std::string>> one = read_optional(*files_, "chat_template.jinja");
    if (!one) return one.error();
    if (*one) found.emplace(kDefault, std::move(**one));
    for (const std::string& name : files_->names_in("additional_chat_templates")) {
      const std::filesystem::path path(name);
      if (path.extension() != ".jinja") continue;
      Result<std::string> source = files_->read(name, kMaxFileBytes);
      if (!source) return source.error();
      found.insert_or_assign(path.stem().string(), std::move(*source));
    }
    if (found.empty()) return {};
    templates_.templates_.clear();
    templates_.has_names_ = found.size() > 1 || !found.contains(std::string(kDefault));
    for (const auto& [name, source] : found) add(name, source);
    return {};
  }

  const NamedFiles* files_;
  ChatTemplates templates_;
  bool has_added_tokens_ = false;
};

Result<ChatTemplates> ChatTemplates::open(const std::filesystem::path& folder) {
  return open(FolderFiles(folder));
}

Result<ChatTemplates> ChatTemplates::open(const NamedFiles& files) {
  return ChatTemplatesReader(files).read();
}

std::vector<std::string> ChatTemplates::names() const {
  std::vector<std::string> names;
  names.reserve(templates_.size());
  for (const auto& [name, parsed] : templates_) names.push_back(name);
  return names;
}

const std::vector<std::string_view>& ChatTemplates::trusted_roles() {
  static const std::vector<std::string_view> kRoles = {
      "system",      "developer",     "user",     "human",         "assistant",   "model",
      "gpt",         "bot",           "tool",     "tools",         "tool_call",   "tool_calls",
      "tool_result", "tool_response", "function", "function_call", "observation", "ipython",
      "environment", "context",       "document", "documents"};
  return kRoles;
}

Result<ChatTemplate> ChatTemplates::find(const ChatInput& input) const {
  if (input.chat_template) {
    const auto named = has_names_ ? templates_.find(*input.chat_template) : templates_.end();
    return named != templates_.end() ? named->second : ChatTemplate::parse(*input.chat_template);
  }
  if (has_names_ && !input.tools.value().is_none()) {
    if (const auto found = templates_.find(std::string(kForTools)); found != templates_.end())
      return found->second;
  }
  if (const auto found = templates_.find(std::string(kDefault)); found != templates_.end())
    return found->second;
  if (templates_.empty()) {
    return Error{ErrorCode::kContract,
                 "the tokenizer has no chat template: give one as chat_template"};
  }
  std::string all;
  for (const std::string& name : names())
    all += (all.empty() ? "" : ", ") + chat_template::quoted(name);
  return Error{ErrorCode::kContract,
               "the tokenizer has several chat templates and no default: name one of " + all +
                   " as chat_template"};
}

Result<RenderedChat> ChatTemplates::render(const ChatInput& input,
                                           const RenderOptions& options) const {
  if (!input.continue_final_message.empty() && input.add_generation_prompt) {
    return Error{ErrorCode::kContract,
                 "continue_final_message and add_generation_prompt are not compatible"};
  }
  for (const auto& [what, values] :
       {std::pair("tools", &input.tools), std::pair("documents", &input.documents)}) {
    if (const Status done = check_dicts(values->value(), what); !done) return done.error();
  }
  Result<ChatTemplate> found = find(input);
  if (!found) return found.error();
  const Result<chat_template::PreparedMessages> prepared = chat_template::prepared(
      input.messages.value(), input.continue_final_message, found->source());
  if (!prepared) return prepared.error();

  Dict variables;
  for (const auto& [name, token] : special_tokens_)
    variables.set(Value::string(name), Value::string(token, Origin::kTemplate));
  for (const auto& [name, value] : input.variables) {
    if (std::ranges::find(kTaken, name) != kTaken.end()) {
      return Error{ErrorCode::kContract,
                   "'" + name + "' is no name for a variable: templates are given it otherwise"};
    }
    variables.set(Value::string(name), value.value());
  }
  variables.set(Value::string("messages"), prepared->messages);
  variables.set(Value::string("tools"), input.tools.value());
  variables.set(Value::string("documents"), input.documents.value());
  variables.set(Value::string("add_generation_prompt"),
                Value::boolean(input.add_generation_prompt));
  Result<RenderedText> text =
      found->render(TemplateValue(Value::dict(std::move(variables))), options);
  if (!text) return text.error();
  if (!input.continue_final_message.empty()) {
    const Status cut = chat_template::cut_at_tag(prepared->continued, *text);
    if (!cut) return cut.error();
  }
  return RenderedChat{std::move(*text), std::move(*found)};
}

}  // namespace polystate
