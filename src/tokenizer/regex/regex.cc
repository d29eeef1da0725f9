#define PCRE2_CODE_UNIT_WIDTH 8

#include "tokenizer/regex/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/regex/deadline.h"

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
constexpr std::size_t kMaxNamedGroups = 64;  // that have names

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

using CodePointer = std::unique_ptr<pcre2_code, Free>;

// The names of an expression's groups, and their numbers.
std::vector<std::pair<std::string, std::size_t>> groups_of(const pcre2_code* code) {
  std::uint32_t count = 0;
  std::uint32_t entry_size = 0;
  PCRE2_SPTR table = nullptr;
  pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &count);
  pcre2_pattern_info(code, PCRE2_INFO_NAMEENTRYSIZE, &entry_size);
  pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, static_cast<void*>(&table));
  std::vector<std::pair<std::string, std::size_t>> groups;
  for (std::uint32_t i = 0; i < count; ++i) {
    const PCRE2_SPTR entry = table + std::size_t{i} * entry_size;
    groups.emplace_back(reinterpret_cast<const char*>(entry + 2),
                        static_cast<std::size_t>(entry[0]) << 8U | entry[1]);
  }
  return groups;
}

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

// What one thread needs to match; any expression may use it.
struct Matcher {
  Matcher()
      : data(pcre2_match_data_create(1, nullptr)),
        group_data(pcre2_match_data_create(kMaxNamedGroups + 1, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr)) {
    if (!context) return;
    pcre2_set_match_limit(context.get(), kMatchLimit);
    pcre2_set_depth_limit(context.get(), kDepthLimit);
    pcre2_set_heap_limit(context.get(), kHeapLimitKib);
    if (stack) pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }

  std::unique_ptr<pcre2_match_data, Free> data;
  std::unique_ptr<pcre2_match_data, Free> group_data;  // of expressions with named groups
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
  // error. `partial`: none, or PCRE2_PARTIAL_HARD.
  [[nodiscard]] int match(std::string_view text, std::size_t start, std::size_t last_start,
                          const Matcher& matcher, std::uint32_t partial) const {
    pcre2_set_offset_limit(matcher.context.get(), last_start);
    const auto* const subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    pcre2_match_data* const data = data_of(matcher);
    if (jit) {
      return pcre2_jit_match(compiled.get(), subject, text.size(), start, partial, data,
                             matcher.context.get());
    }
    return pcre2_match(compiled.get(), subject, text.size(), start, PCRE2_NO_UTF_CHECK | partial,
                       data, matcher.context.get());
  }

  // Where a match is noted.
  [[nodiscard]] pcre2_match_data* data_of(const Matcher& matcher) const {
    return groups.empty() ? matcher.data.get() : matcher.group_data.get();
  }

  // The first match at `start` or after it, into the ovector; false where there is none.
  // `partial`: as for match; a part of a match is one.
  Result<bool> search(std::string_view text, std::size_t start, const Matcher& matcher,
                      Deadline& deadline, std::uint32_t partial = 0) const {
    while (start <= text.size()) {
      std::size_t last_start = std::min(start + kWindow, text.size());
      while (last_start < text.size() && !starts_character(text[last_start])) ++last_start;
      if (deadline.passed()) return too_much(text, "it takes too long");
      const int count = match(text, start, last_start, matcher, partial);
      if (count >= 0 || count == PCRE2_ERROR_PARTIAL) return true;
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
  std::vector<std::pair<std::string, std::size_t>> groups = {};  // names and numbers
  std::vector<std::string> names = {};
};

Regex::Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

Result<Regex> Regex::compile(std::string_view pattern, RegexSyntax syntax) {
  const Result<std::string> translated = to_pcre2(pattern, syntax);
  if (!translated) return translated.error();
  const std::unique_ptr<pcre2_compile_context, Free> context(pcre2_compile_context_create(nullptr));
  if (!context) return Error{ErrorCode::kEngine, "no memory to compile a regular expression"};
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_bsr(context.get(), PCRE2_BSR_UNICODE);
  const bool is_python = syntax == RegexSyntax::kPython;
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_shared<Code>();
  code->pattern = pattern;
  code->compiled.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()), translated->size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
                        PCRE2_USE_OFFSET_LIMIT | (is_python ? PCRE2_DOTALL : 0U),
                    &error, &offset, context.get()));
  if (!code->compiled) {
    return Error{ErrorCode::kArtifact, "the regular expression '" + std::string(pattern) +
                                           "' cannot be compiled: " + message_of(error)};
  }
  code->groups = groups_of(code->compiled.get());
  for (const auto& [name, number] : code->groups) {
    if (number > kMaxNamedGroups) {
      return Error{ErrorCode::kUnsupported,
                   "the regular expression '" + std::string(pattern) + "' has more than " +
                       std::to_string(kMaxNamedGroups) + " groups with names"};
    }
    code->names.push_back(name);
  }
  code->jit =
      pcre2_jit_compile(code->compiled.get(),
                        PCRE2_JIT_COMPLETE | (is_python ? PCRE2_JIT_PARTIAL_HARD : 0U)) == 0;
  return Regex(std::move(code));
}

Status Regex::find(std::string_view text, std::vector<TextRange>& matches) const {
  Deadline deadline(text.size());
  return find(text, matches, deadline);
}

Status Regex::find(std::string_view text, std::vector<TextRange>& matches,
                   Deadline& deadline) const {
  const Matcher& matcher = matcher_of_thread();
  if (!matcher.data || !matcher.group_data || !matcher.context) {
    return Error{ErrorCode::kEngine, "no memory to match a regular expression"};
  }
  const PCRE2_SIZE* const ovector = pcre2_get_ovector_pointer(code_->data_of(matcher));
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

Result<std::optional<RegexMatch>> Regex::search(std::string_view text, std::size_t start,
                                                bool or_partial, Deadline& deadline) const {
  const Matcher& matcher = matcher_of_thread();
  if (!matcher.data || !matcher.group_data || !matcher.context)
    return Error{ErrorCode::kEngine, "no memory to match a regular expression"};
  Result<bool> found = code_->search(text, start, matcher, deadline);
  RegexMatch match;
  if (found && !*found && or_partial) {
    match.is_partial = true;
    found = code_->search(text, start, matcher, deadline, PCRE2_PARTIAL_HARD);
  }
  if (!found) return found.error();
  if (!*found) return std::optional<RegexMatch>();
  const PCRE2_SIZE* const ovector = pcre2_get_ovector_pointer(code_->data_of(matcher));
  const auto range = [ovector](std::size_t group) {
    return TextRange{static_cast<std::uint32_t>(ovector[2 * group]),
                     static_cast<std::uint32_t>(ovector[2 * group + 1])};
  };
  match.range = range(0);
  if (match.is_partial) return std::optional(std::move(match));
  const std::uint32_t count = pcre2_get_ovector_count(code_->data_of(matcher));
  for (const auto& [name, number] : code_->groups) {
    if (number < count && ovector[2 * number] != PCRE2_UNSET)
      match.groups.emplace_back(name, range(number));
  }
  return std::optional(std::move(match));
}

const std::vector<std::string>& Regex::group_names() const { return code_->names; }

}  // namespace polystate::tokenizer
