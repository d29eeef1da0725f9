#include "pipeline/token_scores.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/text_score.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"

namespace polystate {
namespace {

// Windows that are read side by side: enough to fill a model's rows, and few enough to hold.
constexpr std::size_t kGroup = 64;

// A window, and the number of its sequence.
struct Task {
  std::size_t sequence;
  ScoreWindow window;
};

// Nothing of the artifact's own configuration, which is about what is generated.
GenerationOptions scoring(const ScoreOptions& options) {
  GenerationOptions generation;
  generation.config.emplace();
  generation.config->max_new_tokens = 0;
  generation.config->prompt_logprobs = 0;
  generation.is_cancelled = options.is_cancelled;
  return generation;
}

Result<std::size_t> stride_for(std::int64_t room, const ScoreOptions& options) {
  const std::int64_t stride = options.stride.value_or(std::max<std::int64_t>(room / 2, 1));
  if (stride >= 1 && stride < std::max<std::int64_t>(room, 2))
    return static_cast<std::size_t>(stride);
  return Error{ErrorCode::kContract, "stride is " + std::to_string(stride) + "; it may be 1 to " +
                                         std::to_string(room - 1) + ", as the model has room for " +
                                         std::to_string(room) +
                                         " tokens, and windows must overlap"};
}

std::vector<GenerationInput> inputs_of(std::span<const Task> tasks,
                                       std::span<const std::vector<TokenId>> sequences) {
  std::vector<GenerationInput> inputs(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto [begin, end, _] = tasks[i].window;
    const auto tokens = std::span(sequences[tasks[i].sequence]).subspan(begin, end - begin);
    inputs[i].prompt.assign(tokens.begin(), tokens.end());
  }
  return inputs;
}

// What messages call a window: its text, and where in that it begins.
std::string name_of(const Task& task) {
  const std::string name = "input " + std::to_string(task.sequence);
  const std::size_t begin = task.window.begin;
  return begin == 0 ? name : name + " from token " + std::to_string(begin) + " on";
}

// Adds what a window scores; `logprobs` are those of its tokens but the first.
void add(const ScoreWindow& window, std::span<const TokenLogprobs> logprobs, TextScore& score) {
  const std::size_t first = std::max(window.first_scored, window.begin + 1);
  for (const TokenLogprobs& token : logprobs.subspan(first - window.begin - 1)) {
    score.logprob += token.chosen.logprob;
    ++score.tokens;
  }
}

}  // namespace

double TextScore::mean_nll() const {
  if (tokens == 0) return std::numeric_limits<double>::quiet_NaN();
  return -logprob / static_cast<double>(tokens);
}

double TextScore::perplexity() const { return std::exp(mean_nll()); }

TextScore total(std::span<const TextScore> scores) {
  TextScore sum;
  for (const TextScore& score : scores) {
    sum.logprob += score.logprob;
    sum.tokens += score.tokens;
  }
  return sum;
}

std::vector<ScoreWindow> score_windows(std::size_t size, std::size_t room, std::size_t stride) {
  std::vector<ScoreWindow> windows;
  std::size_t scored = 1;
  for (std::size_t begin = 0; scored < size; begin += stride) {
    windows.push_back({begin, std::min(begin + room, size), scored});
    scored = windows.back().end;
  }
  return windows;
}

Result<std::vector<TextScore>> score_tokens(Runner& runner,
                                            std::span<const std::vector<TokenId>> sequences,
                                            const ScoreOptions& options) {
  const std::int64_t room = runner.max_length();
  const Result<std::size_t> stride = stride_for(room, options);
  if (!stride) return stride.error();
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    for (const ScoreWindow& window :
         score_windows(sequences[i].size(), static_cast<std::size_t>(room), *stride)) {
      tasks.push_back({i, window});
    }
  }
  GenerationOptions generation = scoring(options);
  std::vector<TextScore> scores(sequences.size());
  for (std::size_t first = 0; first < tasks.size(); first += kGroup) {
    const std::size_t next = std::min(first + kGroup, tasks.size());
    const auto group = std::span(tasks).subspan(first, next - first);
    generation.name_of = [group](std::size_t window) { return name_of(group[window]); };
    const auto results = runner.generate(inputs_of(group, sequences), generation);
    if (!results) return results.error();
    for (std::size_t i = 0; i < group.size(); ++i)
      add(group[i].window, (*results)[i].prompt_logprobs, scores[group[i].sequence]);
    if (options.on_progress)
      options.on_progress(next < tasks.size() ? tasks[next].sequence : sequences.size());
  }
  return scores;
}

}  // namespace polystate
