#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/chat_text.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/chat.h"
#include "polystate/response/response_parser.h"
#include "polystate/response/response_template.h"

namespace polystate {

// Reads the text of an answer, and tells what comes as it comes.
class ChatReader {
 public:
  using OnPiece = std::function<bool(const ChatPiece& piece)>;

  // `reader`: none where all is content. `prefix` is what the prompt has of the answer. `on_piece`
  // may be null. Errors as ResponseParser::start.
  static Result<ChatReader> start(const std::optional<ResponseTemplate>& reader,
                                  std::string_view prefix, const TemplateValue& tools,
                                  OnPiece on_piece);

  // Reads more; false where the caller wants no more.
  bool push(std::string_view text);

  // Once it is over. An answer that cannot be read is content as it is.
  ChatText finish();

 private:
  explicit ChatReader(OnPiece on_piece) : on_piece_(std::move(on_piece)) {}

  void tell(ChatPiece::Kind kind, std::string_view text);
  void tell(const std::vector<ResponseEvent>& events);

  std::optional<ResponseParser> parser_;
  OnPiece on_piece_;
  std::string whole_;
  bool wants_more_ = true;
};

}  // namespace polystate
