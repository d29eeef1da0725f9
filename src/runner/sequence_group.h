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
#include "runner/admission.h"
#include "runner/cache/cached_sequence.h"
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
  // `source` is null where the model encodes none; `first` has read a part of the prompt, or
  // nothing. `demand` is set aside for it. Errors as make_search.
  static Result<std::unique_ptr<SequenceGroup>> create(std::shared_ptr<Request> request,
                                                       std::optional<EncodedSource> source,
                                                       CachedSequence first, const Demand& demand);
  SequenceGroup(const SequenceGroup&) = delete;
  SequenceGroup& operator=(const SequenceGroup&) = delete;
  ~SequenceGroup() = default;

  // Whether it reads its prompt, or again what it sees of a sequence that was full: one row, in
  // chunks as large as there is room for. Else it reads a token a row.
  [[nodiscard]] bool reads_text() const { return !unread_.empty() || again_row_ < again_.size(); }
  // What a step has left for a text: 1 or more of each.
  struct Room {
    std::size_t tokens;
    std::size_t wanted;  // tokens whose logits are given
  };
  // Appends what its rows read next, which they borrow from the group until `choose`: of a text as
  // much as there is room for. Rows that read a token need no room.
  void plan_rows(std::vector<StepRow>& rows, const Room& room);
  // Takes the logits that these rows want [wanted, vocabulary]. Touches nothing that groups share.
  // Where the search fails, the group is done.
  void choose(std::span<float> logits);
  void fork_rows();
  // Has later requests share what was read of the prompt.
  void keep_prompt(TokenModel& model) const;
  // Whether nothing was read for it yet.
  [[nodiscard]] bool is_new() const { return is_new_; }
  // Of the prompt, which it has read or not.
  [[nodiscard]] std::size_t unread() const { return unread_.size(); }
  // Begins anew with more of the prompt, where `first` has read more.
  void start_from(CachedSequence first);

  // Tells the caller of the token that was chosen since the last call, if one was.
  void tell_token();
  // Whether it is over: nothing is left to generate, or it was ended.
  [[nodiscard]] bool is_done() const;
  // Once it is over: what it read, where that is to be kept, and what was not lost by a failure.
  struct Kept {
    KeptSequence handle;
    CachedSequence cached;
    bool yields;
  };
  std::optional<Kept> take_kept();
  // Once it is over, after take_kept: its result, or why there is none. To be taken once.
  Result<GenerationResult> take_result();
  // Tells the caller of it.
  void tell_result(Result<GenerationResult> result);
  [[nodiscard]] bool is_told() const { return is_told_; }
  // Ends it with an error.
  void end_with(const Error& error) { status_ = error; }

  // What is set aside for it.
  [[nodiscard]] const Demand& demand() const { return demand_; }

  // The most rows that it will have from now on.
  [[nodiscard]] std::size_t most_rows() const { return search_->most_rows(); }
  [[nodiscard]] Request& request() const { return *request_; }
  // Tokens of the present step whose logits it wants.
  [[nodiscard]] std::size_t wanted() const { return wanted_; }

 private:
  SequenceGroup(std::shared_ptr<Request> request, std::optional<EncodedSource> source,
                CachedSequence first, const Demand& demand, std::unique_ptr<Search> search);

  // A chunk of the prompt.
  [[nodiscard]] StepRow plan_prompt(const Room& room);
  // A chunk of what a row reads again.
  [[nodiscard]] StepRow plan_again(const Room& room);
  // Where the model's positions are full, has each row read again what it sees.
  void slide();
  // What its rows began with, as far as the model's positions do not count padding of it.
  [[nodiscard]] std::span<const TokenId> row_prompt() const;
  // Takes logits [tokens, vocabulary] after tokens of the prompt, where they are asked for.
  Status report_prompt(std::span<const float> logits, std::size_t vocabulary);

  std::shared_ptr<Request> request_;
  std::optional<EncodedSource> source_;
  std::span<const TokenId> unread_;  // of the prompt, its last token included; none after it
  // What each row reads again before its next token, and how far that is read; at first nothing.
  std::vector<std::vector<TokenId>> again_;
  std::size_t again_row_ = 0;
  std::size_t again_read_ = 0;  // tokens of that row
  std::size_t cached_;          // tokens of the prompt that had been read before
  std::size_t wanted_ = 0;      // logits of the present step
  bool chooses_ = false;        // in the present step, by the last of these logits
  bool has_told_ = true;        // of the token that was chosen last
  bool is_told_ = false;        // of its result
  Demand demand_;
  bool is_new_ = true;
  KeptSequence kept_;                      // what take_kept gave
  std::vector<CachedSequence> sequences_;  // of each row; where it keeps, the last one to the end
  std::unique_ptr<Search> search_;
  Status status_;  // of the search, and of telling of its tokens
  std::vector<TokenLogprobs> prompt_logprobs_;
};

}  // namespace polystate
