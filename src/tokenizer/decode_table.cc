#include "tokenizer/decode_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "polystate/tokenizer/encoding.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/models/model.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {

DecodeTable::DecodeTable(const Stages& stages, const AddedVocabulary& added)
    : entries_(std::max(stages.model->vocabulary().id_limit(), added.id_limit()), Entry{kNone}) {
  texts_.reserve(entries_.size() * 8);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    auto text = added.decoded_text(id);
    if (!text) text = stages.model->vocabulary().token(id);
    if (!text) continue;
    Entry& entry = entries_[i];
    entry.begin = texts_.size();
    if (stages.decoded_token) {
      texts_ += stages.decoded_token(id, *text);
    } else {
      texts_ += *text;
    }
    entry.size = static_cast<std::uint32_t>(texts_.size() - entry.begin);
    entry.special = added.is_special(id);
  }
  for (const TokenId id : stages.hidden_tokens) {
    if (id < entries_.size()) entries_[id].special = true;
  }
}

}  // namespace polystate::tokenizer
