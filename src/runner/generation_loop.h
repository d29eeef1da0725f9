#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "runner/admission.h"
#include "runner/cache/cached_sequence.h"
#include "runner/kept_sequences.h"
#include "runner/model/token_model.h"
#include "runner/request.h"
#include "runner/request_queue.h"
#include "runner/sequence_group.h"

namespace polystate {

// Runs requests side by side, as far as the model's rows and pages go (continuous batching). Every
// step reads one token in each row of each group, and of prompts as many as there is room for
// besides; what is over leaves, and others join from the queue. Sources that join together are
// encoded together. One thread at a time uses it.
class GenerationLoop {
 public:
  // Both outlive it.
  GenerationLoop(TokenModel& model, RequestQueue& queue);

  // Lets at most `rows` rows run, of the model's max_rows.
  void limit_rows(std::int64_t rows) { max_rows_ = rows; }

  // Admits requests, and runs one step of all that run. Requests that are over are told. False when
  // nothing ran. Where the model fails, all that ran end with its error, and the loop is usable.
  // `is_shared`: whether it is the loop that all callers share, which requests may need.
  bool step(bool is_shared);

  [[nodiscard]] bool is_idle() const { return running_.empty(); }

  // What was kept of a sequence, as bytes that a loop of the same model takes in another process;
  // no bytes where nothing is kept of it here any more.
  Result<std::vector<std::byte>> save_kept(const KeptSequence& kept);
  // Keeps what such bytes have. Null where there is no room for its pages. kArtifact: the bytes are
  // damaged.
  Result<KeptSequence> load_kept(std::span<const std::byte> bytes, bool yields);

 private:
  // Starts requests: those that wait for a quarter of the rows at least, or all that are left. The
  // encoder's call for a single one of many rows would cost more than its row gains.
  Status admit(bool is_shared);
  // Whether a request that runs goes on from a kept sequence, so that their pages count once.
  [[nodiscard]] bool is_in_use(const KeptSequence& kept) const;
  // Gives up a kept sequence that yields, where the first request lacks nothing but pages. Returns
  // whether it did. What the request itself goes on from is the last one, and only where it would
  // be refused otherwise.
  bool make_room();
  // Where nothing runs, gives up what the first request goes on from, if that yields, or at least
  // to this request, and if there is room then. Its full pages stay among the known prefixes, which
  // the request goes on from.
  bool give_up_own(const Request& first);
  // Refuses the first request if kept sequences leave it no room: where nothing runs, it would wait
  // for ever. Returns whether it refused one.
  bool refuse_first();
  // What a request needs besides what kept sequences hold.
  [[nodiscard]] Demand demand_of(const Request& request) const;
  // What a request has read when it starts.
  [[nodiscard]] CachedSequence first_of(const Request& request);
  [[nodiscard]] std::int64_t free_rows() const;
  [[nodiscard]] FreeCapacity free_capacity() const;
  Status start_joining();
  // The sources of what joins, of a model that encodes sources.
  Result<std::vector<EncodedSource>> encode_joining();
  Status run_step();
  // Fills rows_, planned_ and reading_.
  void plan_step();
  // Whether a group that has read nothing waits for one before it that reads a prompt which begins
  // alike, so that both read it once.
  bool waits_for_prefix(std::size_t place);
  // Has every planned group choose by its part of the logits [wanted, vocabulary]: side by side,
  // except those that run code of the caller's.
  void choose(std::span<float> logits);
  // Tells of tokens; tells of groups that are over, and removes them. A group for whose news there
  // is not enough memory ends with that.
  void tell();
  // Keeps what a group that is over read, where that is asked for, and tells of its result.
  void tell_result(SequenceGroup& group);
  // Ends all with an error, of which `tell` tells those that run.
  void fail_all(const Error& error);

  TokenModel& model_;
  RequestQueue& queue_;
  std::int64_t max_rows_;
  std::vector<std::unique_ptr<SequenceGroup>> running_;
  KeptSequences kept_;
  RequestQueue::Requests joining_;       // taken from the queue, not running yet
  std::vector<SequenceGroup*> planned_;  // the groups of the present step, in the order of its rows
  std::vector<SequenceGroup*> reading_;  // of these, those that read a part of a text
  std::vector<StepRow> rows_;
};

}  // namespace polystate
