#include "runner/scheduler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/encoder_decoder.h"
#include "runner/generation_plan.h"
#include "runner/sentence.h"

namespace polystate {
namespace {

// The elements of a float32 tensor that is the caller's own.
std::span<float> mutable_values(const Tensor& tensor) {
  return {reinterpret_cast<float*>(tensor.mutable_bytes().data()), tensor.element_count()};
}

}  // namespace

Scheduler::Scheduler(EncoderDecoder& model, const GenerationPlan& plan)
    : model_(model), plan_(plan), order_(plan.inputs().size()), results_(plan.inputs().size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&plan](std::size_t left, std::size_t right) {
    return plan.inputs()[left].source.size() > plan.inputs()[right].source.size();
  });
}

Result<std::vector<std::vector<GeneratedSequence>>> Scheduler::run() {
  while (started_ < order_.size() || !running_.empty()) {
    if (const Status admitted = admit(); !admitted) return admitted.error();
    if (const Status stepped = step(); !stepped) return stepped.error();
    collect_finished();
  }
  return std::move(results_);
}

Status Scheduler::admit() {
  while (true) {
    const auto batch = next_batch();
    // A call of the encoder for one of many rows would cost more than the row is worth.
    const bool worth = running_.empty() || free_rows() * 4 >= plan_.rows() ||
                       started_ + batch.size() == order_.size();
    if (batch.empty() || !worth) return {};
    if (Status started = start(batch); !started) return started;
  }
}

std::size_t Scheduler::free_rows() const {
  std::size_t used = 0;
  for (const auto& sentence : running_) used += sentence->most_rows();
  return plan_.rows() - used;
}

std::span<const std::size_t> Scheduler::next_batch() const {
  const auto pending = std::span(order_).subspan(started_);
  const std::size_t most = std::min({pending.size(), free_rows() / plan_.rows_per_input(),
                                     static_cast<std::size_t>(model_.limits().max_sources)});
  std::int64_t pages = model_.cross_pool().free_pages();
  std::size_t count = 0;
  while (count < most) {
    const auto& source = plan_.inputs()[pending[count]].source;
    pages -= model_.limits().pages_for(static_cast<std::int64_t>(source.size()));
    if (pages < 0) break;
    ++count;
  }
  return pending.first(count);
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
  started_ += batch.size();
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
    results_[sentence->input()] = sentence->take_results();
    ++done_;
    if (plan_.options().on_progress != nullptr) plan_.options().on_progress(done_);
    return true;
  };
  running_.erase(std::remove_if(running_.begin(), running_.end(), finished), running_.end());
}

}  // namespace polystate
