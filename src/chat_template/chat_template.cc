#include "polystate/chat_template/chat_template.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/parser.h"
#include "chat_template/rendering.h"
#include "chat_template/scope.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/utf8.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

constexpr std::size_t kMaxSourceBytes = std::size_t{4} << 20U;

RenderedText rendered_text(const chat_template::Text& text) {
  RenderedText rendered;
  rendered.text = text.bytes();
  text.for_each_part(0, text.size(),
                     [&](std::size_t begin, std::size_t end, chat_template::Origin origin) {
                       if (origin == chat_template::Origin::kTemplate) return;
                       if (origin == chat_template::Origin::kAnswer)
                         rendered.answers.push_back({begin, end});
                       auto& users = rendered.users;
                       if (!users.empty() && users.back().end == begin) {
                         users.back().end = end;
                       } else {
                         users.push_back({begin, end});
                       }
                     });
  return rendered;
}

}  // namespace

struct ChatTemplate::Parsed {
  std::string source;
  chat_template::Template tree;
};

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return Error{ErrorCode::kContract, "a template has " + std::to_string(source.size()) +
                                           " bytes; the limit is " +
                                           std::to_string(kMaxSourceBytes)};
  }
  if (!is_utf8(source)) return Error{ErrorCode::kContract, "the template is not UTF-8"};
  auto parsed = std::make_shared<Parsed>();
  parsed->source = source;
  if (const Status done = chat_template::parse(source, parsed->tree); !done) return done.error();
  return ChatTemplate(std::move(parsed));
}

Result<RenderedText> ChatTemplate::render(const TemplateValue& variables,
                                          const RenderOptions& options) const {
  using chat_template::Frame;
  const chat_template::Value& all = variables.value();
  if (all.kind() != chat_template::Value::Kind::kDict)
    return Error{ErrorCode::kContract, "the variables of a template are a dictionary"};
  chat_template::Rendering rendering(all.dict(), options);
  const auto frame = std::make_shared<Frame>(parsed_->tree.scope, nullptr, Frame::Level::kTop);
  frame->start(rendering);
  const chat_template::Text text =
      rendering.capture([&] { parsed_->tree.body.run(rendering, frame); });
  frame->clear();
  if (rendering.failed()) return rendering.status().error();
  return rendered_text(text);
}

const std::string& ChatTemplate::source() const { return parsed_->source; }

bool ChatTemplate::writes(std::string_view text) const {
  return std::ranges::any_of(parsed_->tree.texts, [&](const std::string& literal) {
    return literal.find(text) != std::string::npos;
  });
}

}  // namespace polystate
