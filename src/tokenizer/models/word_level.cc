#include "tokenizer/models/word_level.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/models/model.h"

namespace polystate::tokenizer {

Status WordLevel::tokenize(std::string_view piece, std::vector<Token>& tokens) const {
  auto id = vocabulary().find(piece);
  if (!id) id = vocabulary().find(unknown_token_);
  if (!id) {
    return Error{ErrorCode::kContract, "the vocabulary lacks '" +
                                           std::string(piece.substr(0, 100)) +
                                           "' and the unknown token '" + unknown_token_ + "'"};
  }
  tokens.push_back({*id, 0, static_cast<std::uint32_t>(piece.size())});
  return {};
}

}  // namespace polystate::tokenizer
