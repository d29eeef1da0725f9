#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/cache/page_table.h"
#include "runner/model/token_model.h"
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
  // `source` is null where the model encodes none; `first` has read a part of the
  // prompt, or nothing. Errors as make_search.
  static Result<std::unique_ptr<SequenceGroup>> create(std::shared_ptr<Request> request,
                                                       std::optional<EncodedSource> source,
                                                       PageTable first);
  SequenceGroup(const SequenceGroup&) = delete;
  SequenceGroup& operator=(const SequenceGroup&) = delete;
  ~SequenceGroup() = default;

  // Whether it reads its prompt, in chunks as large as there is room for, or a token a row.
  [[nodiscard]] bool reads_prompt() const { return !unread_.empty(); }
  // Appends what its rows read next, which they borrow from the group until `choose`: of a prompt
  // at most `room` tokens, 1 or more.
  void plan_rows(std::vector<StepRow>& rows, std::size_t room);
  // Takes the logits of these rows that want them [wanted, vocabulary]. Touches nothing that groups
  // share. Where the search fails, the group is done.
  void choose(std::span<float> logits);
  void fork_rows();
  // Has later requests share what was read of the prompt.
  void keep_prompt(TokenModel& model) const;

  // Tells the caller of the token that was chosen since the last call, if one was.
  void tell_token();
  // Whether it is over: nothing is left to generate, or it was ended.
  [[nodiscard]] bool is_done() const;
  // Tells the caller that it is over, once it is.
  void tell_result();

  // The most rows that it will have from now on.
  [[nodiscard]] std::size_t most_rows() const { return search_->most_rows(); }
  [[nodiscard]] Request& request() const { return *request_; }
  // Rows of the present step whose logits it wants.
  [[nodiscard]] std::size_t wanted() const { return wants_logits_ ? sequences_.size() : 0; }

 private:
  SequenceGroup(std::shared_ptr<Request> request, std::optional<EncodedSource> source,
                PageTable first, std::unique_ptr<Search> search);

  Result<GenerationResult> take_result();

  std::shared_ptr<Request> request_;
  std::optional<EncodedSource> source_;
  std::span<const TokenId> unread_;   // of the prompt, its last token included; none after it
  std::size_t cached_;                // tokens of the prompt that had been read before
  bool wants_logits_ = false;         // in the present step
  bool has_told_ = true;              // of the token that was chosen last
  std::vector<PageTable> sequences_;  // of each row
  std::unique_ptr<Search> search_;
  Status status_;  // of the search
};

}  // namespace polystate
