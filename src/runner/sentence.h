#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/encoder_decoder.h"
#include "runner/page_table.h"
#include "runner/search.h"

namespace polystate {

// One input that is being generated: its search, and the rows of the decoder that the search has.
// Its pages return to their pools with it.
class Sentence {
 public:
  // `first` is an empty sequence.
  Sentence(std::size_t input, EncodedSource source, PageTable first, const SearchSetting& setting);
  Sentence(const Sentence&) = delete;
  Sentence& operator=(const Sentence&) = delete;
  ~Sentence() = default;

  // Appends what its rows read next; borrowed until `advance`.
  void append_rows(std::vector<DecoderRow>& rows);
  // Takes the logits of these rows [rows, vocabulary], and chooses what they go on with. Touches
  // nothing that sentences share. kContract as Search::advance.
  Status choose(std::span<float> logits);
  // Gives every row of the next step the sequence that it goes on from.
  void go_on();

  [[nodiscard]] std::size_t input() const { return input_; }
  [[nodiscard]] std::size_t rows() const { return sequences_.size(); }
  // The most rows that it will have from now on; none when it is finished.
  [[nodiscard]] std::size_t most_rows() const { return search_->most_rows(); }
  std::vector<GeneratedSequence> take_results() { return search_->take_results(); }

 private:
  std::size_t input_;
  EncodedSource source_;
  std::span<const TokenId> prompt_;
  std::span<const TokenId> unread_;   // of the prompt, before its last token
  bool has_chosen_ = false;           // what go_on is to follow
  std::vector<PageTable> sequences_;  // of each row
  std::unique_ptr<Search> search_;
};

}  // namespace polystate
