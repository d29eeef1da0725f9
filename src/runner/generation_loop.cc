#include "runner/generation_loop.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/out_of_memory.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/core/token.h"
#include "runner/admission.h"
#include "runner/encoder_decoder.h"
#include "runner/request.h"
#include "runner/request_queue.h"
#include "runner/sequence_group.h"

namespace polystate {
namespace {

// Tokens that the encoder reads in one call: enough that its products are bound by arithmetic; more
// would only take more memory for activations.
constexpr std::int64_t kEncodedTogether = 320;

// The elements of a float32 tensor that is the caller's own.
std::span<float> mutable_values(const Tensor& tensor) {
  return {reinterpret_cast<float*>(tensor.mutable_bytes().data()), tensor.element_count()};
}

}  // namespace

GenerationLoop::GenerationLoop(EncoderDecoder& model, RequestQueue& queue)
    : model_(model), queue_(queue), max_rows_(model.limits().max_batch) {}

bool GenerationLoop::step(bool callers_code) {
  tell();  // of what was ended since the last step
  const Status done = or_out_of_memory("generate", "", [&]() -> Status {
    if (Status admitted = admit(callers_code); !admitted) return admitted;
    return running_.empty() ? Status() : run_step();
  });
  const bool ran = !running_.empty() || !done;
  if (!done) fail_all(done.error());
  tell();
  return ran;
}

Status GenerationLoop::admit(bool callers_code) {
  const bool many_free = running_.empty() || free_rows() * 4 >= max_rows_;
  while (true) {
    joining_ = queue_.take(free_capacity(), !many_free, callers_code);
    if (joining_.empty()) return {};
    if (Status started = start_joining(); !started) return started;
  }
}

std::int64_t GenerationLoop::free_rows() const {
  std::int64_t used = 0;
  for (const auto& group : running_) used += static_cast<std::int64_t>(group->most_rows());
  return max_rows_ - used;
}

FreeCapacity GenerationLoop::free_capacity() const {
  std::int64_t pages = model_.limits().pages;
  for (const auto& group : running_) pages -= group->request().demand().pages;
  return {.rows = free_rows(),
          .pages = pages,
          .source_pages = model_.cross_pool().free_pages(),
          .sources = model_.limits().max_sources,
          .source_tokens = kEncodedTogether};
}

Status GenerationLoop::start_joining() {
  std::vector<std::span<const TokenId>> sources;
  sources.reserve(joining_.size());
  for (const auto& request : joining_) sources.push_back(request->source());
  Result<std::vector<EncodedSource>> encoded = model_.encode(sources, joining_.front()->pad());
  if (!encoded) return encoded.error();
  running_.reserve(running_.size() + joining_.size());
  for (std::size_t i = 0; i < joining_.size(); ++i) {
    Result<std::unique_ptr<SequenceGroup>> group =
        SequenceGroup::create(joining_[i], std::move((*encoded)[i]), model_.new_sequence());
    if (group) {
      running_.push_back(std::move(*group));
    } else {
      fail(*joining_[i], group.error());
    }
    joining_[i].reset();
  }
  return {};
}

Status GenerationLoop::run_step() {
  rows_.clear();
  for (const auto& group : running_) group->plan_rows(rows_);
  const Result<Tensor> logits = model_.decode(rows_);
  if (!logits) return logits.error();
  choose(mutable_values(*logits));
  return {};
}

void GenerationLoop::choose(std::span<float> logits) {
  const std::size_t vocabulary = logits.size() / rows_.size();
  std::vector<std::span<float>> logits_of;  // each group
  for (const auto& group : running_) {
    logits_of.push_back(logits.first(group->rows() * vocabulary));
    logits = logits.subspan(logits_of.back().size());
  }
  const auto runs_callers_code = [&](std::size_t i) {
    return running_[i]->request().runs_callers_code();
  };
  model_.parallel_for(running_.size(), [&](std::size_t i) {
    if (!runs_callers_code(i)) running_[i]->choose(logits_of[i]);
  });
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (runs_callers_code(i)) running_[i]->choose(logits_of[i]);
    running_[i]->fork_rows();
  }
}

void GenerationLoop::tell() {
  const auto is_over = [](const std::unique_ptr<SequenceGroup>& group) {
    group->tell_token();
    if (!group->is_done()) return false;
    group->tell_result();
    return true;
  };
  std::erase_if(running_, is_over);
}

void GenerationLoop::fail_all(const Error& error) {
  for (const auto& request : joining_) {
    if (request != nullptr) fail(*request, error);
  }
  joining_.clear();
  for (const auto& group : running_) fail(group->request(), error);
  running_.clear();
}

}  // namespace polystate
