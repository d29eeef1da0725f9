#include "pipeline/chat_form.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chat_template/value.h"
#include "pipeline/chat_prompt.h"
#include "pipeline/chat_tools.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/response/response_template.h"
#include "polystate/tokenizer/tokenizer.h"
#include "response/forms.h"
#include "response/template.h"
#include "response/trial.h"

namespace polystate {
namespace {

// Special tokens whose text a reader looks for.
std::vector<TokenId> markers_of(const Tokenizer& tokenizer, const ResponseTemplate& reader) {
  std::vector<TokenId> markers;
  for (const TokenId id : tokenizer.added_tokens()) {
    const std::string text = tokenizer.id_to_token(id).value_or("");
    if (!tokenizer.is_special(id) || text.empty()) continue;
    const bool is_marker = std::ranges::any_of(
        reader.content().texts,
        [&](const std::string& marker) { return marker.find(text) != std::string::npos; });
    if (is_marker) markers.push_back(id);
  }
  return markers;
}

// The special tokens of a vocabulary, but for some.
std::vector<TokenId> others_of(const Tokenizer& tokenizer, const std::vector<TokenId>& markers) {
  std::vector<TokenId> others;
  for (std::size_t i = 0; i < tokenizer.vocabulary_size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokenizer.is_special(id) && std::ranges::find(markers, id) == markers.end())
      others.push_back(id);
  }
  return others;
}

Status check_tools(const ChatForm& form) {
  if (!form.forms.shows_tools) {
    return Error{ErrorCode::kContract,
                 "the chat template does not show tools to the model: leave tools out, or give a "
                 "template that has them as chat_template"};
  }
  if (form.is_of_model || form.forms.calls != nullptr) return {};
  return Error{ErrorCode::kContract,
               "the chat template writes calls in no form that is known: leave tools out, or give "
               "the model's tokenizer_config.json a response_template, which says how answers are "
               "read"};
}

}  // namespace

Result<ChatForm> find_chat_form(const ChatEncoder& encoder, const ChatInput& chat,
                                const TemplateValue& tools) {
  ChatForm form;
  Result<TemplateValue> checked = checked_tools(tools);
  if (!checked) return checked.error();
  form.tools = *std::move(checked);
  const bool has_tools = !form.tools.value().is_none();
  form.forms = response::find_forms(encoder.templates, chat, has_tools);
  const std::optional<std::string>& of_model = encoder.templates.response_template();
  form.is_of_model = of_model.has_value();
  if (has_tools) {
    if (const Status checked_form = check_tools(form); !checked_form) return checked_form.error();
  }
  if (of_model) {
    Result<ResponseTemplate> reader = ResponseTemplate::parse(*of_model);
    if (!reader) return reader.error();
    form.reader = form.reader_without_calls = *std::move(reader);
  } else if (form.forms.thoughts != nullptr || has_tools) {
    form.reader =
        response::template_of(form.forms.thoughts, form.forms.calls, form.forms.value_space);
    if (form.forms.thoughts != nullptr)
      form.reader_without_calls = response::template_of(form.forms.thoughts, nullptr);
  }
  if (form.reader) form.markers = markers_of(encoder.tokenizer, *form.reader);
  if (has_tools) form.unread = others_of(encoder.tokenizer, form.markers);
  return form;
}

}  // namespace polystate
