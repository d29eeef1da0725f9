#include "runner/request.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"
#include "runner/admission.h"
#include "runner/cache/cache_kind.h"
#include "runner/context_slide.h"
#include "runner/model/limits.h"
#include "runner/random_seed.h"
#include "runner/search/search.h"
#include "runner/sequence_length.h"

namespace polystate {
namespace {

Error contract_error(const std::string& message) { return {ErrorCode::kContract, message}; }

// Biases are added to scores, which are float32: two that are infinite may give what is no number.
Status check_biases(const GenerationConfig& config) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  for (const auto& [tokens, bias] : config.sequence_bias) {
    if (std::abs(bias) <= kLargest) continue;  // which NaN is not
    return contract_error("sequence_bias has " + std::to_string(bias) +
                          ": a bias is finite as a float32; bad_words_ids forbids tokens");
  }
  return {};
}

Status check_options(const GenerationConfig& config, const CallersPart& callers) {
  if (Status valid = config.validate(); !valid) return valid;
  if (Status valid = check_biases(config); !valid) return valid;
  if (!config.stop_strings.empty()) {
    return contract_error(
        "stop_strings: a runner knows no text; generate through a pipeline, or give what "
        "make_stop_strings makes of them and a tokenizer as one of the stopping_criteria");
  }
  if (config.num_beams > 1 && callers.sampler != nullptr) {
    return contract_error("a sampler chooses no beams: num_beams is " +
                          std::to_string(config.num_beams));
  }
  if (callers.keeps && (config.num_beams > 1 || config.num_return_sequences > 1)) {
    return contract_error("one sequence of an input is kept: num_beams is " +
                          std::to_string(config.num_beams) + ", num_return_sequences is " +
                          std::to_string(config.num_return_sequences) +
                          "; any number of them go on from one that is kept");
  }
  if (callers.hears_tokens && (config.num_beams > 1 || config.num_return_sequences > 1)) {
    return contract_error("a stream is of one sequence of an input: num_beams is " +
                          std::to_string(config.num_beams) + ", num_return_sequences is " +
                          std::to_string(config.num_return_sequences));
  }
  return {};
}

// Which of `ids` is not in the vocabulary.
std::optional<std::size_t> find_unknown(std::span<const TokenId> ids, std::int64_t vocabulary) {
  const auto found = std::find_if(ids.begin(), ids.end(), [vocabulary](TokenId id) {
    return static_cast<std::int64_t>(id) >= vocabulary;
  });
  if (found == ids.end()) return std::nullopt;
  return static_cast<std::size_t>(found - ids.begin());
}

Status check_tokens(const std::string& label, std::span<const TokenId> ids,
                    std::int64_t vocabulary) {
  const auto unknown = find_unknown(ids, vocabulary);
  if (!unknown) return {};
  const std::string place = ids.size() > 1 ? ", token " + std::to_string(*unknown) : "";
  return contract_error(label + place + ": " + std::to_string(ids[*unknown]) +
                        " is past the vocabulary's " + std::to_string(vocabulary) + " tokens");
}

Status check_source(const std::string& label, std::span<const TokenId> source,
                    const ModelLimits& limits) {
  if (!limits.sources) {
    if (source.empty()) return {};
    return contract_error(label + ": the source has " + std::to_string(source.size()) +
                          " tokens; the model has no encoder: they belong to the prompt");
  }
  if (source.empty()) return contract_error(label + ": the source is empty");
  const std::int64_t limit = limits.sources->max_source_length;
  if (std::ssize(source) > limit) {
    return contract_error(label + ": the source has " + std::to_string(source.size()) +
                          " tokens; the model takes " + std::to_string(limit));
  }
  return check_tokens(label + ", source", source, limits.vocabulary_size);
}

// The token that sequences without a prompt start from.
Result<TokenId> start_token(const GenerationConfig& config, std::int64_t vocabulary) {
  const auto start =
      config.decoder_start_token_id ? config.decoder_start_token_id : config.bos_token_id;
  if (!start) {
    return contract_error(
        "an input has no prompt, and neither decoder_start_token_id nor bos_token_id is given");
  }
  if (const Status known = check_tokens("decoder_start_token_id", {&*start, 1}, vocabulary);
      !known) {
    return known.error();
  }
  return *start;
}

TokenId padding_of(const GenerationConfig& config) {
  if (config.pad_token_id) return *config.pad_token_id;
  return config.eos_token_id.empty() ? 0 : config.eos_token_id.front();
}

std::int64_t rows_of(const GenerationConfig& config) {
  return config.num_beams > 1 ? config.num_beams : config.num_return_sequences;
}

// An order in which requests of the same source and prompt are equal.
bool comes_before(const Request& left, const Request& right) {
  return std::ranges::equal(left.source(), right.source())
             ? std::ranges::lexicographical_compare(left.prompt(), right.prompt())
             : std::ranges::lexicographical_compare(left.source(), right.source());
}

}  // namespace

TokenId Request::pad() const { return padding_of(config()); }

SearchContext Request::search_context() const {
  return {.config = config(),
          .processors = *processors_,
          .sampler = *setting_->sampler,
          .stopping_criteria = setting_->callers.stopping_criteria,
          .prompt = input_.prompt,
          .source = input_.source,
          .max_length = max_length_,
          .seed = setting_->seed,
          .first_sequence = first_sequence_};
}

void fail(const Request& request, const Error& error) {
  if (request.on_done != nullptr) request.on_done(error);
}

Error cancelled() { return contract_error("the generation was cancelled"); }

Result<RequestMaker> RequestMaker::create(GenerationConfig config, CallersPart callers,
                                          const ModelLimits& limits) {
  if (const Status valid = check_options(config, callers); !valid) return valid.error();
  const TokenId pad = padding_of(config);
  if (const Status known = check_tokens("pad_token_id", {&pad, 1}, limits.vocabulary_size);
      !known) {
    return known.error();
  }
  RequestMaker maker(limits);
  if (config.max_time) {
    maker.deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(*config.max_time));
  }
  const Result<std::uint64_t> seed =
      config.seed ? Result<std::uint64_t>(*config.seed) : random_seed();
  if (!seed) return seed.error();
  const auto sampler = callers.sampler != nullptr ? callers.sampler : make_sampler(config);
  maker.setting_ = std::make_shared<Request::Setting>(
      Request::Setting{std::move(config), std::move(callers), sampler, *seed});
  return maker;
}

Result<std::shared_ptr<Request>> RequestMaker::make(GenerationInput input, std::size_t number,
                                                    const std::string& label) {
  const GenerationConfig& config = setting_->config;
  if (input.prompt.empty()) {
    const Result<TokenId> start = start_token(config, limits_.vocabulary_size);
    if (!start) return start.error();
    input.prompt = {*start};
  }
  if (const Status valid = check_source(label, input.source, limits_); !valid) {
    return valid.error();
  }
  if (const Status known = check_tokens(label + ", prompt", input.prompt, limits_.vocabulary_size);
      !known) {
    return known.error();
  }
  const Result<std::int64_t> length =
      sequence_length(config, input.prompt.size(), limits_.max_length);
  if (!length) return contract_error(label + ": " + length.error().message);
  const Result<std::optional<ContextSlide>> slide = slide_of(*length);
  if (!slide) return contract_error(label + ": " + slide.error().message);
  const Result<Demand> demand = demand_of(input, *length);
  if (!demand) return demand.error();
  auto processors = processors_for(input.prompt.size(), *length);
  if (!processors) return processors.error();

  const std::shared_ptr<Request> request(new Request());
  request->setting_ = setting_;
  request->input_ = std::move(input);
  request->processors_ = std::move(*processors);
  request->max_length_ = *length;
  if (*slide && std::ssize(request->prompt()) > limits_.max_length) {
    request->seen_prompt_ = (**slide).seen(request->prompt());
  }
  request->slide_ = *slide;
  request->first_sequence_ = number * static_cast<std::uint64_t>(config.num_return_sequences);
  request->deadline_ = deadline_;
  request->demand_ = *demand;
  request->pages_ = pages_of_kind(*demand, limits_.kinds.front().row_pages);
  return request;
}

Result<std::shared_ptr<const LogitsProcessors>> RequestMaker::processors_for(
    std::size_t prompt_length, std::int64_t max_length) {
  std::shared_ptr<const LogitsProcessors>& found = processors_[{prompt_length, max_length}];
  if (found == nullptr) {
    const ProcessorContext context = {prompt_length, max_length,
                                      static_cast<std::size_t>(limits_.vocabulary_size)};
    auto made = make_logits_processors(setting_->config, context, setting_->callers.processors);
    if (!made) return made.error();
    found = std::make_shared<const LogitsProcessors>(std::move(*made));
  }
  return found;
}

Result<std::optional<ContextSlide>> RequestMaker::slide_of(std::int64_t max_length) const {
  if (max_length <= limits_.max_length) return std::optional<ContextSlide>();
  if (limits_.sources) {
    return contract_error("context is \"slide\": only a decoder alone slides; max_length may be " +
                          std::to_string(limits_.max_length) + " at most");
  }
  const std::int64_t kept = setting_->config.keep_tokens;
  if (kept + 2 > limits_.max_length) {
    return contract_error("keep_tokens is " + std::to_string(kept) + "; of the model's " +
                          std::to_string(limits_.max_length) + " positions at most " +
                          std::to_string(limits_.max_length - 2) + " may be kept");
  }
  return std::optional<ContextSlide>({.positions = limits_.max_length, .kept = kept});
}

Result<Demand> RequestMaker::demand_of(const GenerationInput& input,
                                       std::int64_t max_length) const {
  const GenerationConfig& config = setting_->config;
  const std::int64_t rows = rows_of(config);
  // Rows that slide share no pages: each reads again what it sees.
  const bool slides = max_length > limits_.max_length;
  const std::int64_t shared = slides ? 1 : std::ssize(input.prompt);
  const std::int64_t longest = std::min(max_length, limits_.max_length);
  const auto needed = [&](std::int64_t sequences) {
    return pages_needed(sequences, shared, longest, limits_.page_size);
  };
  const auto has_pages = [&](std::int64_t sequences) {
    const Demand demand = {.rows = sequences, .pages = needed(sequences)};
    return std::ranges::all_of(limits_.kinds, [&](const CacheKind& kind) {
      return pages_of_kind(demand, kind.row_pages) <= kind.pages;
    });
  };
  if (rows > limits_.max_rows() || !has_pages(rows)) {
    std::int64_t possible = limits_.max_rows();
    while (!has_pages(possible)) --possible;  // one sequence has pages
    return contract_error((config.num_beams > 1 ? "num_beams is " : "num_return_sequences is ") +
                          std::to_string(rows) + "; the model has " +
                          std::to_string(limits_.max_rows()) + " rows, and pages for " +
                          std::to_string(possible) + " sequences of " + std::to_string(longest) +
                          " tokens");
  }
  return Demand{.rows = rows,
                .pages = needed(rows),
                .source_tokens = std::ssize(input.source),
                .source_pages = limits_.pages_for(std::ssize(input.source))};
}

std::vector<std::size_t> first_alike(std::span<const std::shared_ptr<Request>> requests,
                                     bool streams) {
  std::vector<std::size_t> firsts(requests.size());
  std::iota(firsts.begin(), firsts.end(), std::size_t{0});
  const auto may_differ = [](const std::shared_ptr<Request>& request) {
    return request->config().do_sample || request->runs_callers_code();
  };
  if (streams || std::ranges::any_of(requests, may_differ)) return firsts;
  const auto before = [requests](std::size_t left, std::size_t right) {
    return comes_before(*requests[left], *requests[right]);
  };
  std::set<std::size_t, decltype(before)> distinct(before);
  for (std::size_t& first : firsts) first = *distinct.insert(first).first;
  return firsts;
}

}  // namespace polystate
