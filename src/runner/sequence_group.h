#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/encoder_decoder.h"
#include "runner/page_table.h"
#include "runner/request.h"
#include "runner/search/search.h"

namespace polystate {

// A request that runs: its search, and the sequence of each of its rows. Its pages return to their
// pools with it. A step is three calls:
//
//   plan_rows   what its rows read
//   choose      with the logits of these rows: what they go on with
//   fork_rows   each row of the next step gets the sequence that it goes on from
class SequenceGroup {
 public:
  // `first` is an empty sequence. Errors as make_search.
  static Result<std::unique_ptr<SequenceGroup>> create(std::shared_ptr<Request> request,
                                                       EncodedSource source, PageTable first);
  SequenceGroup(const SequenceGroup&) = delete;
  SequenceGroup& operator=(const SequenceGroup&) = delete;
  ~SequenceGroup() = default;

  // Appends what its rows read next, which they borrow from the group until `choose`.
  void plan_rows(std::vector<DecoderRow>& rows);
  // Takes the logits of these rows [rows, vocabulary]. Touches nothing that groups share. Where the
  // search fails, the group is done.
  void choose(std::span<float> logits);
  void fork_rows();

  // Tells the caller of the token that was chosen since the last call, if one was.
  void tell_token();
  // Whether it is over: nothing is left to generate, or it was ended.
  [[nodiscard]] bool is_done() const;
  // Tells the caller that it is over, once it is.
  void tell_result();

  // The most rows that it will have from now on.
  [[nodiscard]] std::size_t most_rows() const { return search_->most_rows(); }
  [[nodiscard]] Request& request() const { return *request_; }
  // Rows of the present step.
  [[nodiscard]] std::size_t rows() const { return sequences_.size(); }

 private:
  SequenceGroup(std::shared_ptr<Request> request, EncodedSource source, PageTable first,
                std::unique_ptr<Search> search);

  Result<GenerationResult> take_result();

  std::shared_ptr<Request> request_;
  EncodedSource source_;
  std::span<const TokenId> unread_;   // of the prompt, before its last token
  bool has_chosen_ = false;           // in the present step
  bool has_told_ = true;              // of the token that was chosen last
  std::vector<PageTable> sequences_;  // of each row
  std::unique_ptr<Search> search_;
  Status status_;  // of the search
};

}  // namespace polystate
