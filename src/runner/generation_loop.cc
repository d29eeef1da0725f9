#include "runner/generation_loop.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/out_of_memory.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/admission.h"
#include "runner/cache/cache_kind.h"
#include "runner/cache/cached_sequence.h"
#include "runner/kept_bytes.h"
#include "runner/model/source_encoder.h"
#include "runner/model/token_model.h"
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

// The tokens of full pages that a prompt, of which one token is left to read, has in common with
// another one.
std::size_t shared_prefix(std::span<const TokenId> prompt, std::span<const TokenId> other,
                          std::int64_t page_size) {
  const auto [end, _] = std::ranges::mismatch(prompt.first(prompt.size() - 1), other);
  const auto common = static_cast<std::size_t>(end - prompt.begin());
  return common - common % static_cast<std::size_t>(page_size);
}

// The first kind of caches that has too few free pages for a demand.
std::optional<std::size_t> lacking_kind(const Demand& demand, const FreeCapacity& free) {
  const auto lacking = std::ranges::find_if(free.pages, [&](const FreePages& kind) {
    return pages_of_kind(demand, kind.row_pages) > kind.pages;
  });
  if (lacking == free.pages.end()) return std::nullopt;
  return static_cast<std::size_t>(lacking - free.pages.begin());
}

}  // namespace

GenerationLoop::GenerationLoop(TokenModel& model, RequestQueue& queue)
    : model_(model), queue_(queue), max_rows_(model.limits().max_rows()) {}

bool GenerationLoop::step(bool is_shared) {
  tell();  // of what was ended since the last step
  const Status done = or_out_of_memory("generate", "", [&]() -> Status {
    if (Status admitted = admit(is_shared); !admitted) return admitted;
    return running_.empty() ? Status() : run_step();
  });
  const bool ran = !running_.empty() || !done;
  if (!done) fail_all(done.error());
  tell();
  return ran;
}

Status GenerationLoop::admit(bool is_shared) {
  kept_.drop_unused();
  const bool many_free = running_.empty() || free_rows() * 4 >= max_rows_;
  while (true) {
    joining_ = queue_.take(
        free_capacity(), [this](const Request& request) { return demand_of(request); }, !many_free,
        is_shared);
    if (joining_.empty() && is_shared && make_room()) continue;
    if (joining_.empty() && running_.empty() && refuse_first()) continue;
    if (joining_.empty()) return {};
    if (Status started = start_joining(); !started) return started;
  }
}

bool GenerationLoop::make_room() {
  bool gave_up = false;
  (void)queue_.take_first([&](const Request& first) {
    FreeCapacity all = free_capacity();
    const Demand demand = demand_of(first);
    const bool lacks_pages = lacking_kind(demand, all).has_value();
    for (FreePages& free : all.pages) free.pages = demand.pages;
    const auto is_needed = [&](const KeptSequence& kept) {
      return kept == first.kept() || is_in_use(kept);
    };
    if (!lacks_pages || count_admitted({&demand, 1}, all) != 1) return false;
    gave_up = kept_.give_up_first(is_needed) || (running_.empty() && give_up_own(first));
    return false;
  });
  return gave_up;
}

bool GenerationLoop::give_up_own(const Request& first) {
  const CachedSequence* const cached = kept_.cached(first.kept());
  const bool may_go = first.gives_up_kept() || kept_.yields(first.kept());
  if (cached == nullptr || !may_go) return false;
  const std::vector<CacheKind>& kinds = model_.limits().kinds;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const std::int64_t free = kinds[kind].pages - kept_.pages(kind, first.kept());
    if (pages_of_kind(first.demand(), kinds[kind].row_pages) > free) return false;
  }
  model_.keep_prefix(first.kept()->tokens, *cached);
  kept_.give_up(first.kept());
  return true;
}

bool GenerationLoop::is_in_use(const KeptSequence& kept) const {
  return std::ranges::any_of(running_,
                             [&](const auto& group) { return group->request().kept() == kept; });
}

bool GenerationLoop::refuse_first() {
  std::string refusal;
  // It may have come a moment ago, and have room.
  const std::shared_ptr<Request> request = queue_.take_first([&](const Request& first) {
    const Demand demand = demand_of(first);
    const std::optional<std::size_t> lacking = lacking_kind(demand, free_capacity());
    if (!lacking || kept_.pages(*lacking) == 0) return false;
    const CacheKind& kind = model_.limits().kinds[*lacking];
    refusal = "the request needs " + std::to_string(pages_of_kind(demand, kind.row_pages)) +
              " pages; sequences that are kept hold " + std::to_string(kept_.pages(*lacking)) +
              " of the model's " + std::to_string(kind.pages) + ": drop some of them";
    return true;
  });
  if (request == nullptr) return false;
  fail(*request, {ErrorCode::kContract, refusal});
  return true;
}

Result<std::vector<std::byte>> GenerationLoop::save_kept(const KeptSequence& kept) {
  const CachedSequence* const cached = kept_.cached(kept);
  if (cached == nullptr) return std::vector<std::byte>();
  return to_bytes(*kept, *cached, model_.content());
}

Result<KeptSequence> GenerationLoop::load_kept(std::span<const std::byte> bytes, bool yields) {
  Result<KeptBytes> read = KeptBytes::parse(bytes, model_.limits(), model_.content());
  if (!read) return read.error();
  kept_.drop_unused();
  const auto has_room = [&] {
    const FreeCapacity free = free_capacity();
    return std::ranges::equal(read->held, free.pages, [](std::size_t held, const FreePages& kind) {
      return static_cast<std::int64_t>(held) <= kind.pages;
    });
  };
  while (!has_room()) {
    if (!kept_.give_up_first([this](const KeptSequence& kept) { return is_in_use(kept); })) {
      return KeptSequence();
    }
  }
  CachedSequence cached = model_.new_sequence();
  if (const Status filled = cached.fill(std::ssize(read->tokens.tokens), read->released); !filled) {
    return filled.error();
  }
  for (std::size_t kind = 0; kind < read->pages.size(); ++kind) {
    const auto pages = cached.tables()[kind].held_pages();
    if (const Status written = model_.content().write(kind, pages, read->pages[kind]); !written) {
      return written.error();
    }
  }
  auto handle = std::make_shared<const KeptTokens>(std::move(read->tokens));
  kept_.add(handle, std::move(cached), yields);
  return KeptSequence(std::move(handle));
}

Demand GenerationLoop::demand_of(const Request& request) const {
  Demand demand = request.demand();
  demand.pages -= kept_.shared_pages(request, model_.limits().page_size);
  return demand;
}

CachedSequence GenerationLoop::first_of(const Request& request) {
  if (request.wants_prompt_logprobs()) return model_.new_sequence();
  std::optional<CachedSequence> kept = kept_.find(request);
  // The request asked for as many pages less.
  if (kept && kept_.shared_pages(request, model_.limits().page_size) > 0) return std::move(*kept);
  CachedSequence known = model_.new_sequence(request.seen_prompt());
  return kept && kept->length() >= known.length() ? std::move(*kept) : std::move(known);
}

std::int64_t GenerationLoop::free_rows() const {
  std::int64_t used = 0;
  for (const auto& group : running_) used += static_cast<std::int64_t>(group->most_rows());
  return max_rows_ - used;
}

FreeCapacity GenerationLoop::free_capacity() const {
  const SourceEncoder* const encoder = model_.encoder();
  const auto& sources = model_.limits().sources;
  std::vector<FreePages> pages;
  for (const CacheKind& kind : model_.limits().kinds) {
    std::int64_t free = kind.pages - kept_.pages(pages.size());
    for (const auto& group : running_) free -= pages_of_kind(group->demand(), kind.row_pages);
    pages.push_back({free, kind.row_pages});
  }
  return {.rows = free_rows(),
          .pages = std::move(pages),
          .source_pages = encoder == nullptr ? 0 : encoder->pool().free_pages(),
          .sources = sources ? sources->max_sources : free_rows(),
          .source_tokens = kEncodedTogether};
}

Status GenerationLoop::start_joining() {
  Result<std::vector<EncodedSource>> encoded = encode_joining();
  if (!encoded) return encoded.error();
  running_.reserve(running_.size() + joining_.size());
  for (std::size_t i = 0; i < joining_.size(); ++i) {
    std::optional<EncodedSource> source;
    if (!encoded->empty()) source = std::move((*encoded)[i]);
    Result<std::unique_ptr<SequenceGroup>> group = SequenceGroup::create(
        joining_[i], std::move(source), first_of(*joining_[i]), demand_of(*joining_[i]));
    if (group) {
      running_.push_back(std::move(*group));
    } else {
      fail(*joining_[i], group.error());
    }
    joining_[i].reset();
  }
  return {};
}

Result<std::vector<EncodedSource>> GenerationLoop::encode_joining() {
  if (model_.encoder() == nullptr) return std::vector<EncodedSource>();
  std::vector<std::span<const TokenId>> sources;
  sources.reserve(joining_.size());
  for (const auto& request : joining_) sources.push_back(request->source());
  return model_.encoder()->encode(sources, joining_.front()->pad());
}

Status GenerationLoop::run_step() {
  plan_step();
  const Result<Tensor> logits = model_.forward(rows_);
  if (!logits) return logits.error();
  for (const SequenceGroup* group : reading_) group->keep_prompt(model_);
  choose(mutable_values(*logits));
  return {};
}

void GenerationLoop::plan_step() {
  rows_.clear();
  planned_.clear();
  reading_.clear();
  SequenceGroup::Room room = {static_cast<std::size_t>(model_.limits().max_step_tokens),
                              static_cast<std::size_t>(model_.limits().max_wanted)};
  for (const auto& group : running_) {
    if (group->reads_text()) continue;
    group->plan_rows(rows_, room);
    planned_.push_back(group.get());
  }
  room.tokens -= rows_.size();
  room.wanted -= rows_.size();
  for (std::size_t i = 0; i < running_.size(); ++i) {
    SequenceGroup& group = *running_[i];
    if (!group.reads_text() || room.tokens == 0 || room.wanted == 0) continue;
    if (waits_for_prefix(i)) continue;
    group.plan_rows(rows_, room);
    room.tokens -= rows_.back().tokens.size();
    room.wanted -= rows_.back().wanted;
    planned_.push_back(&group);
    reading_.push_back(&group);
  }
}

bool GenerationLoop::waits_for_prefix(std::size_t place) {
  SequenceGroup& group = *running_[place];
  const Request& request = group.request();
  // What goes on from a kept sequence has pages of that, of which it asked for as many less.
  const bool shares =
      model_.encoder() == nullptr && !request.wants_prompt_logprobs() && request.kept() == nullptr;
  if (!shares || !group.is_new() || place == 0) return false;
  const auto prompt = request.seen_prompt();
  group.start_from(model_.new_sequence(prompt));
  const std::size_t known = prompt.size() - group.unread();
  return std::any_of(running_.begin(), running_.begin() + static_cast<std::ptrdiff_t>(place),
                     [&](const std::unique_ptr<SequenceGroup>& other) {
                       const bool reads =
                           other->unread() > 0 || std::ranges::count(reading_, other.get()) > 0;
                       return reads && shared_prefix(prompt, other->request().seen_prompt(),
                                                     model_.limits().page_size) > known;
                     });
}

void GenerationLoop::choose(std::span<float> logits) {
  const auto vocabulary = static_cast<std::size_t>(model_.limits().vocabulary_size);
  std::vector<std::span<float>> logits_of;  // each group
  for (const SequenceGroup* group : planned_) {
    logits_of.push_back(logits.first(group->wanted() * vocabulary));
    logits = logits.subspan(logits_of.back().size());
  }
  const auto runs_callers_code = [&](std::size_t i) {
    return planned_[i]->request().runs_callers_code();
  };
  model_.parallel_for(planned_.size(), [&](std::size_t i) {
    if (!runs_callers_code(i)) planned_[i]->choose(logits_of[i]);
  });
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (runs_callers_code(i)) planned_[i]->choose(logits_of[i]);
    planned_[i]->fork_rows();
  }
}

void GenerationLoop::tell() {
  for (const auto& group : running_) {
    if (group->is_told()) continue;
    const Status told = or_out_of_memory("generate", "", [&]() -> Status {
      group->tell_token();
      return {};
    });
    if (!told) group->end_with(told.error());
    if (group->is_done()) tell_result(*group);
  }
  std::erase_if(running_, [](const auto& group) { return group->is_told(); });
}

void GenerationLoop::tell_result(SequenceGroup& group) {
  Result<GenerationResult> result =
      or_out_of_memory("generate", "", [&]() -> Result<GenerationResult> {
        if (std::optional<SequenceGroup::Kept> kept = group.take_kept()) {
          kept_.add(std::move(kept->handle), std::move(kept->cached), kept->yields);
        }
        return group.take_result();
      });
  const Status told = or_out_of_memory("generate", "", [&]() -> Status {
    group.tell_result(std::move(result));
    return {};
  });
  // The result is gone, and its memory with it: there is room for a message.
  if (!told) fail(group.request(), told.error());
}

void GenerationLoop::fail_all(const Error& error) {
  kept_.clear();
  for (const auto& group : running_) group->end_with(error);
  // Each is told once, also where memory runs out meanwhile.
  const RequestQueue::Requests joining = std::exchange(joining_, {});
  for (const auto& request : joining) {
    if (request != nullptr) fail(*request, error);
  }
}

}  // namespace polystate
