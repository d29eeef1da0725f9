#define PCRE2_CODE_UNIT_WIDTH 8

#include "tokenizer/regex/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {
namespace {

// Per search for one match. A pattern that splits text needs a few steps a character.
constexpr std::uint32_t kMatchLimit = 20'000'000;
constexpr std::uint32_t kDepthLimit = 100'000;
constexpr std::uint32_t kHeapLimitKib = 64 * 1024;
constexpr std::size_t kJitStackStart = std::size_t{32} * 1024;
constexpr std::size_t kJitStackLimit = std::size_t{4} * 1024 * 1024;
// A match that starts nowhere in this many bytes is looked for in steps, so that an expression that
// reads far from every start is noticed: the limits above count anew at each start.
constexpr std::size_t kWindow = 256;
constexpr std::chrono::seconds kTimeLimit{2};
constexpr std::chrono::microseconds kTimeLimitPerByte{1};

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};
// The time that looking for all matches in a text may take: far more than an expression takes that
// reads each character a few times.
class Deadline {
 public:
  explicit Deadline(std::size_t text_bytes)
      : end_(Clock::now() + kTimeLimit + text_bytes * kTimeLimitPerByte) {}

  // To be asked at each search; the clock is read at some of them.
  bool passed() { return ++asked_ % kSearchesBetweenReadings == 0 && Clock::now() > end_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kSearchesBetweenReadings = 16;

  Clock::time_point end_;
  unsigned asked_ = 0;
};

using CodePointer = std::unique_ptr<pcre2_code, Free>;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

// What one thread needs to match; any expression may use it.
struct Matcher {
  Matcher()
      : data(pcre2_match_data_create(1, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr)) {
    if (!context) return;
    pcre2_set_match_limit(context.get(), kMatchLimit);
    pcre2_set_depth_limit(context.get(), kDepthLimit);
    pcre2_set_heap_limit(context.get(), kHeapLimitKib);
    if (stack) pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }

  std::unique_ptr<pcre2_match_data, Free> data;
  std::unique_ptr<pcre2_match_context, Free> context;
  std::unique_ptr<pcre2_jit_stack, Free> stack;
};

Matcher& matcher_of_thread() {
  thread_local Matcher matcher;
  return matcher;
}

}  // namespace

struct Regex::Code {
  // A match that starts at `start` or up to `last_start`, into the ovector; otherwise PCRE2's
  // error.
  [[nodiscard]] int match(std::string_view text, std::size_t start, std::size_t last_start,
                          const Matcher& matcher) const {
    pcre2_set_offset_limit(matcher.context.get(), last_start);
    const auto* const subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    if (jit) {
      return pcre2_jit_match(compiled.get(), subject, text.size(), start, 0, matcher.data.get(),
                             matcher.context.get());
    }
    return pcre2_match(compiled.get(), subject, text.size(), start, PCRE2_NO_UTF_CHECK,
                       matcher.data.get(), matcher.context.get());
  }

  // The first match at `start` or after it, into the ovector; false where there is none.
  Result<bool> search(std::string_view text, std::size_t start, const Matcher& matcher,
                      Deadline& deadline) const {
    while (start <= text.size()) {
      std::size_t last_start = std::min(start + kWindow, text.size());
      while (last_start < text.size() && !starts_character(text[last_start])) ++last_start;
      if (deadline.passed()) return too_much(text, "it takes too long");
      const int count = match(text, start, last_start, matcher);
      if (count >= 0) return true;
      if (count != PCRE2_ERROR_NOMATCH) return too_much(text, message_of(count));
      start = last_start + (last_start < text.size() ? character_size(text[last_start]) : 1);
    }
    return false;
  }

  [[nodiscard]] Error too_much(std::string_view text, const std::string& why) const {
    return {ErrorCode::kContract, "a text of " + std::to_string(text.size()) +
                                      " bytes is too much for the regular expression '" + pattern +
                                      "': " + why};
  }

  std::string pattern;  // as it was given
  CodePointer compiled;
  bool jit = false;
};

Regex::Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

Result<Regex> Regex::compile(std::string_view pattern, RegexSyntax syntax) {
  const Result<std::string> translated = to_pcre2(pattern, syntax);
  if (!translated) return translated.error();
  const std::unique_ptr<pcre2_compile_context, Free> context(pcre2_compile_context_create(nullptr));
  if (!context) return Error{ErrorCode::kEngine, "no memory to compile a regular expression"};
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_bsr(context.get(), PCRE2_BSR_UNICODE);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_shared<Code>();
  code->pattern = pattern;
  code->compiled.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()),
                                     translated->size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C |
                                         PCRE2_DOLLAR_ENDONLY | PCRE2_USE_OFFSET_LIMIT,
                                     &error, &offset, context.get()));
  if (!code->compiled) {
    return Error{ErrorCode::kArtifact, "the regular expression '" + std::string(pattern) +
                                           "' cannot be compiled: " + message_of(error)};
  }
  code->jit = pcre2_jit_compile(code->compiled.get(), PCRE2_JIT_COMPLETE) == 0;
  return Regex(std::move(code));
}

Status Regex::find(std::string_view text, std::vector<TextRange>& matches) const {
  const Matcher& matcher = matcher_of_thread();
  if (!matcher.data || !matcher.context) {
    return Error{ErrorCode::kEngine, "no memory to match a regular expression"};
  }
  const PCRE2_SIZE* const ovector = pcre2_get_ovector_pointer(matcher.data.get());
  Deadline deadline(text.size());
  std::size_t start = 0;
  std::size_t last_end = std::string_view::npos;  // of the match before
  while (start <= text.size()) {
    const Result<bool> found = code_->search(text, start, matcher, deadline);
    if (!found) return found.error();
    if (!*found) return {};
    const std::size_t begin = ovector[0];
    const std::size_t end = ovector[1];
    if (begin != end || begin != last_end) {
      matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
      last_end = end;
    }
    start = end;
    if (begin == end) start += end < text.size() ? character_size(text[end]) : 1;
  }
  return {};
}

}  // namespace polystate::tokenizer
