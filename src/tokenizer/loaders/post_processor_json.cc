#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/loaders/tokenizer_json_parts.h"
#include "tokenizer/post_processors/post_processor.h"

namespace polystate::tokenizer {
namespace {

using PostProcessors = std::vector<std::unique_ptr<const PostProcessor>>;

// The id of ["[SEP]", 102].
TokenId read_token_id(const JsonCursor& json) {
  const std::vector<JsonCursor> pair = json.elements();
  if (pair.size() == 2) return pair[1].id();
  json.fail("it must be a token and its id");
  return 0;
}

void add_trim(const JsonCursor& json, PostProcessors& parts) {
  if (json["trim_offsets"].boolean())
    parts.push_back(std::make_unique<TrimOffsets>(json["add_prefix_space"].boolean()));
}

void add_bert(const JsonCursor& json, PostProcessors& parts) {
  parts.push_back(std::make_unique<ClassificationTokens>(
      ClassificationTokens::Style::kBert, read_token_id(json["cls"]), read_token_id(json["sep"])));
}

void add_roberta(const JsonCursor& json, PostProcessors& parts) {
  add_trim(json, parts);
  parts.push_back(std::make_unique<ClassificationTokens>(ClassificationTokens::Style::kRoberta,
                                                         read_token_id(json["cls"]),
                                                         read_token_id(json["sep"])));
}

using SpecialTokens = std::map<std::string, std::vector<TokenId>>;

std::vector<Template::Item> read_template(const JsonCursor& json, const SpecialTokens& special,
                                          std::size_t texts) {
  std::vector<Template::Item> items;
  for (const JsonCursor& piece : json.elements()) {
    Template::Item item;
    if (const auto sequence = piece.optional("Sequence")) {
      const std::string name = (*sequence)["id"].string();
      item.text = name == "B" ? 1 : 0;
      item.type_id = (*sequence)["type_id"].id();
      if ((name != "A" && name != "B") || *item.text >= texts)
        sequence->fail("the sequence '" + name + "' is not one of its texts");
    } else {
      const JsonCursor token = piece["SpecialToken"];
      const std::string name = token["id"].string();
      item.type_id = token["type_id"].id();
      const auto found = special.find(name);
      if (found != special.end()) {
        item.ids = found->second;
      } else {
        token.fail("'" + name + "' is not in 'special_tokens'");
      }
    }
    items.push_back(std::move(item));
  }
  return items;
}

void add_template(const JsonCursor& json, PostProcessors& parts) {
  SpecialTokens special;
  for (const auto& [name, token] : json["special_tokens"].fields()) {
    for (const JsonCursor& id : token["ids"].elements())
      special[std::string(name)].push_back(id.id());
  }
  parts.push_back(std::make_unique<Template>(read_template(json["single"], special, 1),
                                             read_template(json["pair"], special, 2)));
}

void add_parts(const JsonCursor& json, PostProcessors& parts);

void add_sequence(const JsonCursor& json, PostProcessors& parts) {
  for (const JsonCursor& part : json["processors"].elements()) add_parts(part, parts);
}

// Only offsets may be trimmed after a template, which leaves other parts than one for each text.
bool follows_template(const std::string& type, const PostProcessors& parts) {
  return type != "ByteLevel" && type != "Sequence" &&
         std::any_of(parts.begin(), parts.end(), [](const auto& part) {
           return dynamic_cast<const Template*>(part.get()) != nullptr;
         });
}

void add_parts(const JsonCursor& json, PostProcessors& parts) {
  using Adder = void (*)(const JsonCursor&, PostProcessors&);
  static const std::map<std::string_view, Adder> kAdders = {
      {"BertProcessing", add_bert},         {"ByteLevel", add_trim},
      {"RobertaProcessing", add_roberta},   {"Sequence", add_sequence},
      {"TemplateProcessing", add_template},
  };
  const std::string type = json["type"].string();
  if (follows_template(type, parts))
    return json.fail("a post-processor follows a template", ErrorCode::kUnsupported);
  const auto found = kAdders.find(type);
  if (found == kAdders.end())
    return json.fail("the post-processor '" + type + "' is not known", ErrorCode::kUnsupported);
  const Adder add = found->second;
  add(json, parts);
}

}  // namespace

std::unique_ptr<const PostProcessor> read_post_processor(const JsonCursor& json) {
  PostProcessors parts;
  add_parts(json, parts);
  return std::make_unique<PostProcessorSequence>(std::move(parts));
}

}  // namespace polystate::tokenizer
