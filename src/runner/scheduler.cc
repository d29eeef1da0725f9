#include "runner/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/core/token.h"
#include "runner/encoder_decoder.h"
#include "runner/generation_plan.h"
#include "runner/generation_queue.h"
#include "runner/sentence.h"

namespace polystate {
namespace {

// Tokens that the encoder reads in one call: enough that its products are bound by arithmetic; more
// would only take more memory for activations.
constexpr std::size_t kEncodedTogether = 320;

// The elements of a float32 tensor that is the caller's own.
std::span<float> mutable_values(const Tensor& tensor) {
  return {reinterpret_cast<float*>(tensor.mutable_bytes().data()), tensor.element_count()};
}

}  // namespace

Scheduler::Scheduler(EncoderDecoder& model, const GenerationPlan& plan, GenerationQueue& queue,
                     std::size_t rows)
    : model_(model), plan_(plan), queue_(queue), most_rows_(rows) {}

Status Scheduler::run() {
  const auto& is_cancelled = plan_.options().is_cancelled;
  while (true) {
    if (is_cancelled && is_cancelled()) {
      return Error{ErrorCode::kContract, "the generation was cancelled"};
    }
    if (Status admitted = admit(); !admitted) return admitted;
    if (running_.empty()) return {};
    if (Status stepped = step(); !stepped) return stepped;
    collect_finished();
  }
}

Status Scheduler::admit() {
  // A call of the encoder for one of many rows would cost more than the row is worth.
  const bool worth = running_.empty() || free_rows() * 4 >= most_rows_;
  while (true) {
    const std::vector<std::size_t> batch = queue_.take(room(), !worth);
    if (batch.empty()) return {};
    if (Status started = start(batch); !started) return started;
  }
}

std::size_t Scheduler::free_rows() const {
  std::size_t used = 0;
  for (const auto& sentence : running_) used += sentence->most_rows();
  return most_rows_ - used;
}

Room Scheduler::room() const {
  return {.inputs = std::min(free_rows() / plan_.rows_per_input(),
                             static_cast<std::size_t>(model_.limits().max_sources)),
          .tokens = kEncodedTogether,
          .cross_pages = model_.cross_pool().free_pages()};
}

Status Scheduler::start(std::span<const std::size_t> batch) {
  std::vector<std::span<const TokenId>> sources;
  sources.reserve(batch.size());
  for (const std::size_t input : batch) sources.push_back(plan_.inputs()[input].source);
  Result<std::vector<EncodedSource>> encoded = model_.encode(sources, plan_.pad());
  if (!encoded) return encoded.error();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    running_.push_back(std::make_unique<Sentence>(batch[i], std::move((*encoded)[i]),
                                                  model_.new_sequence(), plan_.setting(batch[i])));
  }
  return {};
}

Status Scheduler::step() {
  rows_.clear();
  for (const auto& sentence : running_) sentence->append_rows(rows_);
  const Result<Tensor> logits = model_.decode(rows_);
  if (!logits) return logits.error();
  if (Status chosen = choose(mutable_values(*logits)); !chosen) return chosen;
  for (const auto& sentence : running_) sentence->go_on();
  return {};
}

Status Scheduler::choose(std::span<float> logits) {
  const std::size_t vocabulary = logits.size() / rows_.size();
  std::vector<std::span<float>> own;  // of each sentence
  for (const auto& sentence : running_) {
    own.push_back(logits.first(sentence->rows() * vocabulary));
    logits = logits.subspan(own.back().size());
  }
  std::vector<Status> statuses(running_.size());
  const auto choose_one = [&](std::size_t i) { statuses[i] = running_[i]->choose(own[i]); };
  if (plan_.runs_callers_code()) {
    for (std::size_t i = 0; i < running_.size(); ++i) choose_one(i);
  } else {
    model_.parallel_for(running_.size(), choose_one);
  }
  const auto failed =
      std::find_if(statuses.begin(), statuses.end(), [](const Status& status) { return !status; });
  return failed == statuses.end() ? Status() : *failed;
}

void Scheduler::collect_finished() {
  const auto finished = [this](const std::unique_ptr<Sentence>& sentence) {
    if (sentence->most_rows() > 0) return false;
    queue_.finish(sentence->input(), sentence->take_results());
    return true;
  };
  running_.erase(std::remove_if(running_.begin(), running_.end(), finished), running_.end());
}

}  // namespace polystate
