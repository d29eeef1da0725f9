#include "runner/model/limits.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/token_model_form.h"
#include "runner/cache/cache_kind.h"
#include "runner/model/method_forms.h"

namespace polystate {
namespace {

// Positions and tokens are counted in 32 bits at most, so that no product of two overflows.
constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

// A constant, and where it is kept.
template <typename Limits>
struct SizeConstant {
  std::string_view name;
  std::int64_t Limits::* member;
};

constexpr std::array<SizeConstant<ModelLimits>, 6> kConstants = {
    {{"page_size", &ModelLimits::page_size},
     {"max_length", &ModelLimits::max_length},
     {"vocabulary_size", &ModelLimits::vocabulary_size},
     {"max_sequences", &ModelLimits::max_sequences},
     {"max_step_tokens", &ModelLimits::max_step_tokens},
     {"max_wanted", &ModelLimits::max_wanted}}};
constexpr std::array<SizeConstant<SourceLimits>, 2> kSourceConstants = {
    {{"max_source_length", &SourceLimits::max_source_length},
     {"cross_pages", &SourceLimits::cross_pages}}};
constexpr std::string_view kPages = "pages";
constexpr std::string_view kWindow = "window";
constexpr std::string_view kWindowPages = "window_pages";
constexpr std::string_view kPadding = "padding_id";

Error constants_error(const std::string& message) {
  return {ErrorCode::kArtifact, "manifest.json: constants." + message};
}

Result<std::int64_t> read_constant(const Manifest& manifest, std::string_view name,
                                   std::int64_t least = 1) {
  const auto found = manifest.constants.find(std::string(name));
  if (found == manifest.constants.end()) {
    return constants_error(std::string(name) + " is missing");
  }
  const auto* value = std::get_if<std::int64_t>(&found->second);
  if (value == nullptr || *value < least || *value > kLargest) {
    return constants_error(
        std::string(name) + (value == nullptr ? "" : " is " + std::to_string(*value) + ", and") +
        " is not an integer from " + std::to_string(least) + " to " + std::to_string(kLargest));
  }
  return *value;
}

template <typename Limits>
Status read_constants(const Manifest& manifest, std::span<const SizeConstant<Limits>> constants,
                      Limits& limits) {
  for (const auto& [name, member] : constants) {
    const Result<std::int64_t> value = read_constant(manifest, name);
    if (!value) return value.error();
    limits.*member = *value;
  }
  return {};
}

// The input of that name of a method that has it.
std::size_t index_of(const MethodSpec& method, std::string_view input) {
  const auto found = std::ranges::find(method.inputs, input, &InputSpec::name);
  return static_cast<std::size_t>(found - method.inputs.begin());
}

// The largest size of a dimension of an input.
std::int64_t largest_size(const MethodSpec& method, std::size_t input, std::size_t dimension) {
  std::vector<std::int64_t> largest;
  largest.reserve(method.symbols.size());
  for (const Symbol& symbol : method.symbols) largest.push_back(symbol.max);
  const Result<std::int64_t> size = method.inputs[input].shape[dimension].evaluate(largest);
  return size ? std::min(*size, kLargest) : kLargest;  // it overflows
}

// Whether `forward` has an input of that name.
bool has_input(const Manifest& manifest, std::string_view name) {
  const MethodSpec& forward = manifest.methods[*manifest.method_index("forward")];
  return index_of(forward, name) < forward.inputs.size();
}

// The kinds of caches, where all other constants are known.
Status read_kinds(const Manifest& manifest, ModelLimits& limits) {
  const Result<std::int64_t> pages = read_constant(manifest, kPages);
  if (!pages) return pages.error();
  limits.kinds = {{0, *pages, limits.pages_for(limits.max_length)}};
  const bool has_table = has_window_table(manifest);
  if (!has_table && !manifest.constants.contains(std::string(kWindow))) return {};
  const Result<std::int64_t> window = read_constant(manifest, kWindow);
  if (!window) return window.error();
  const std::int64_t chunk = std::min(limits.max_step_tokens, limits.max_length);
  CacheKind windowed = {*window, *pages, pages_of_window(*window, chunk, limits.page_size)};
  windowed.row_pages = std::min(windowed.row_pages, limits.kinds.front().row_pages);
  if (!has_table) {
    limits.kinds = {windowed};
    return {};
  }
  const Result<std::int64_t> window_pages = read_constant(manifest, kWindowPages);
  if (!window_pages) return window_pages.error();
  windowed.pages = *window_pages;
  limits.kinds.push_back(windowed);
  return {};
}

// A size that a method must take, for the constant it follows from.
struct NeededSize {
  std::string_view method;
  std::string_view input;
  std::size_t dimension;
  std::string_view constant;
  std::int64_t size;
};

Status check_size(const Manifest& manifest, const NeededSize& needed) {
  const MethodSpec& method = manifest.methods[*manifest.method_index(needed.method)];
  const std::size_t input = index_of(method, needed.input);
  const std::int64_t largest = largest_size(method, input, needed.dimension);
  if (largest >= needed.size) return {};
  return constants_error(std::string(needed.constant) + " needs a size of " +
                         std::to_string(needed.size) + " in dimension " +
                         std::to_string(needed.dimension) + " of " + input_label(method, input) +
                         ", which takes " + std::to_string(largest));
}

Status check_sizes(const Manifest& manifest, const ModelLimits& limits) {
  std::vector<NeededSize> sizes = {
      {"forward", "input_ids", 0, "max_step_tokens", limits.max_step_tokens},
      {"forward", "page_table", 0, "max_sequences", limits.max_sequences},
      {"forward", "page_table", 1, "max_length", limits.pages_for(limits.max_length)},
      {"forward", "wanted", 0, "max_wanted", limits.max_wanted},
      {"copy_pages", "source", 0, "max_sequences", limits.max_sequences}};
  if (limits.kinds.size() > 1) {
    sizes.insert(sizes.end(),
                 {{"forward", "window_table", 0, "max_sequences", limits.max_sequences},
                  {"forward", "window_table", 1, "max_length", limits.pages_for(limits.max_length)},
                  {"copy_window_pages", "source", 0, "max_sequences", limits.max_sequences}});
  }
  if (limits.sources) {
    const std::int64_t length = limits.sources->max_source_length;
    sizes.insert(sizes.end(),
                 {{"encode", "input_ids", 1, "max_source_length", length},
                  {"encode", "cross_table", 1, "max_source_length", limits.pages_for(length)},
                  {"forward", "cross_table", 1, "max_source_length", limits.pages_for(length)}});
  }
  for (const NeededSize& size : sizes) {
    if (Status checked = check_size(manifest, size); !checked) return checked;
  }
  return {};
}

Status check_pages(const ModelLimits& limits) {
  const auto check = [](std::string_view pages, std::int64_t count, const std::string& what,
                        std::int64_t needed) -> Status {
    if (needed <= count) return {};
    return constants_error(std::string(pages) + " is " + std::to_string(count) +
                           ": too small for " + what + ", which need " + std::to_string(needed));
  };
  const auto positions = [](std::int64_t count) {
    return ", " + std::to_string(count) + " positions";
  };
  for (std::size_t i = 0; i < limits.kinds.size(); ++i) {
    const auto& [window, pages, row_pages] = limits.kinds[i];
    const std::string what =
        window == 0 ? "one sequence of max_length" + positions(limits.max_length)
                    : "one sequence, a window" + positions(window) + " and a step's tokens";
    if (Status fit = check(i == 0 ? kPages : kWindowPages, pages, what, row_pages); !fit) {
      return fit;
    }
  }
  if (!limits.sources) return {};
  const std::int64_t length = limits.sources->max_source_length;
  return check("cross_pages", limits.sources->cross_pages,
               "one source of max_source_length" + positions(length), limits.pages_for(length));
}

}  // namespace

std::vector<ConstantForm> token_model_constants() {
  std::vector<ConstantForm> all;
  all.reserve(kConstants.size() + kSourceConstants.size() + 4);
  for (const auto& constant : kConstants) all.push_back({constant.name, Presence::kAlways});
  all.push_back({kPages, Presence::kAlways});
  all.push_back({kWindow, Presence::kOptional});
  all.push_back({kWindowPages, Presence::kWithWindowTable});
  for (const auto& constant : kSourceConstants) {
    all.push_back({constant.name, Presence::kWithSources});
  }
  all.push_back({kPadding, Presence::kOptional});
  return all;
}

Result<ModelLimits> ModelLimits::read(const Manifest& manifest) {
  if (const Status checked = check_methods(manifest); !checked) return checked.error();
  ModelLimits limits{};
  const std::span<const SizeConstant<ModelLimits>> constants = kConstants;
  if (const Status read = read_constants(manifest, constants, limits); !read) return read.error();
  if (const Status read = read_kinds(manifest, limits); !read) return read.error();
  if (has_sources(manifest)) {
    const std::span<const SizeConstant<SourceLimits>> source_constants = kSourceConstants;
    SourceLimits& sources = limits.sources.emplace();
    if (const Status read = read_constants(manifest, source_constants, sources); !read) {
      return read.error();
    }
    const MethodSpec& encode = manifest.methods[*manifest.method_index("encode")];
    sources.max_sources = largest_size(encode, index_of(encode, "input_ids"), 0);
  }
  if (has_input(manifest, "counted")) {
    const Result<std::int64_t> padding = read_constant(manifest, kPadding, 0);
    if (!padding) return padding.error();
    limits.uncounted = static_cast<TokenId>(*padding);
  }
  if (const Status checked = check_sizes(manifest, limits); !checked) return checked.error();
  if (const Status checked = check_pages(limits); !checked) return checked.error();
  return limits;
}

}  // namespace polystate
