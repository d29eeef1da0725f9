#include "tokenizer/loaders/model_sinks.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/vocabulary.h"

namespace polystate::tokenizer {

bool VocabularySink::key(const std::string& key) {
  token_ = key;
  has_token_ = true;
  return true;
}

bool VocabularySink::string(const std::string& value) {
  if (!in_pair_ || has_token_) return false;
  token_ = value;
  has_token_ = true;
  return true;
}

bool VocabularySink::number(double value) {
  if (!std::exchange(has_token_, false)) return false;
  if (in_pair_) {
    const std::size_t id = scores_.size();
    scores_.push_back(value);
    return id <= Vocabulary::kMaxId && add(static_cast<TokenId>(id));
  }
  return std::floor(value) == value && value >= 0 && value <= Vocabulary::kMaxId &&
         add(static_cast<TokenId>(value));
}

bool VocabularySink::begin_array() { return !has_token_ && !std::exchange(in_pair_, true); }

bool VocabularySink::end_array() {
  in_pair_ = false;
  return !has_token_;
}

bool VocabularySink::add(TokenId id) { return vocabulary_.add(token_, id).has_value(); }

std::string VocabularySink::problem() const {
  return "must be an object of tokens and their ids, whole numbers from 0 to " +
         std::to_string(Vocabulary::kMaxId) + ", or an array of [token, score]";
}

bool MergesSink::string(const std::string& value) {
  if (in_pair_) {
    put(value);
    return ++parts_in_pair_ <= 2;
  }
  if (value.starts_with("#version")) return true;
  const std::size_t space = value.find(' ');
  if (space == std::string::npos || value.find(' ', space + 1) != std::string::npos) return false;
  put(std::string_view(value).substr(0, space));
  put(std::string_view(value).substr(space + 1));
  return true;
}

bool MergesSink::begin_array() {
  parts_in_pair_ = 0;
  return !std::exchange(in_pair_, true);
}

bool MergesSink::end_array() { return std::exchange(in_pair_, false) && parts_in_pair_ == 2; }

std::string MergesSink::problem() const {
  return R"(must be an array of "left right" or of ["left", "right"])";
}

void MergesSink::put(std::string_view part) {
  bytes_ += part;
  ends_.push_back(bytes_.size());
}

std::string_view MergesSink::part(std::size_t i) const {
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(bytes_).substr(begin, ends_[i] - begin);
}

}  // namespace polystate::tokenizer
