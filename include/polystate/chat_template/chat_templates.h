#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/named_files.h"
#include "polystate/core/result.h"

namespace polystate {

// What transformers.apply_chat_template takes, for one conversation.
struct ChatInput {
  TemplateValue messages;   // a list of dictionaries
  TemplateValue tools;      // a list of dictionaries, or none
  TemplateValue documents;  // likewise
  // The name of one of the templates, or a template. Not given: that for tools, where there are
  // some, or the default one.
  std::optional<std::string> chat_template;
  bool add_generation_prompt = false;
  // The field of the last message that the text ends with, such as "content"; empty: none.
  std::string continue_final_message;
  // What the template sees besides, in place of special tokens of the same names.
  std::vector<std::pair<std::string, TemplateValue>> variables;
};

struct RenderedChat {
  RenderedText text;
  ChatTemplate chat_template;  // that was used
};

// The chat templates of a model, and what else its files say for them.
class ChatTemplates {
 public:
  // Reads what transformers reads from a model's directory: chat_template.jinja,
  // additional_chat_templates/*.jinja, and else the templates of tokenizer_config.json; special
  // tokens of that and of special_tokens_map.json. There may be none of them. kArtifact: a file is
  // damaged. kIo: it cannot be read. A template that is malformed is an error where it is used.
  static Result<ChatTemplates> open(const std::filesystem::path& folder);
  // The same for the files of a place: of a folder, or those that an artifact lists (see
  // chat_templates_of).
  static Result<ChatTemplates> open(const NamedFiles& files);
  ChatTemplates() = default;

  // Renders a conversation as transformers does: without the keys of messages whose value is none,
  // and with the text of thoughts under all names that templates know. kContract: transformers
  // refuses it too, or as ChatTemplate::render.
  [[nodiscard]] Result<RenderedChat> render(const ChatInput& input,
                                            const RenderOptions& options = {}) const;

  // The names of the templates; that of a single one is "default".
  [[nodiscard]] std::vector<std::string> names() const;
  // Special tokens by the names that templates know: "bos_token".
  [[nodiscard]] const std::map<std::string, std::string>& special_tokens() const {
    return special_tokens_;
  }
  // Tokens that control the model besides special ones, where the files say so.
  [[nodiscard]] const std::optional<std::vector<std::string>>& control_tokens() const {
    return control_tokens_;
  }

  // How answers are read, as JSON, where the files say so: see ResponseTemplate.
  [[nodiscard]] const std::optional<std::string>& response_template() const {
    return response_template_;
  }

  // Roles of messages, of which templates make tokens. Their text is trusted.
  static const std::vector<std::string_view>& trusted_roles();

 private:
  [[nodiscard]] Result<ChatTemplate> find(const ChatInput& input) const;

  std::map<std::string, Result<ChatTemplate>> templates_;
  std::map<std::string, std::string> special_tokens_;
  std::optional<std::vector<std::string>> control_tokens_;
  std::optional<std::string> response_template_;
  bool has_names_ = false;  // several templates, or one that has a name

  friend class ChatTemplatesReader;
};

}  // namespace polystate
