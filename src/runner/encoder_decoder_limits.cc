#include "runner/encoder_decoder_limits.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"

namespace polystate {
namespace {

// Positions and tokens are counted in 32 bits at most, so that no product of two overflows.
constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

constexpr std::array<std::pair<std::string_view, std::int64_t EncoderDecoderLimits::*>, 7>
    kConstants = {{{"page_size", &EncoderDecoderLimits::page_size},
                   {"max_batch", &EncoderDecoderLimits::max_batch},
                   {"max_source_length", &EncoderDecoderLimits::max_source_length},
                   {"max_length", &EncoderDecoderLimits::max_length},
                   {"vocabulary_size", &EncoderDecoderLimits::vocabulary_size},
                   {"pages", &EncoderDecoderLimits::pages},
                   {"cross_pages", &EncoderDecoderLimits::cross_pages}}};

// Inputs and outputs that each method has.
struct MethodForm {
  std::string_view name;
  std::size_t inputs;
  std::size_t outputs;
  std::size_t optional_inputs;
};
constexpr std::size_t kInputsOfDecode = 5;
constexpr std::array<MethodForm, 3> kMethods = {
    {{"encode", 3, 0, 0}, {"decode", kInputsOfDecode, 1, 1}, {"copy_pages", 2, 0, 0}}};

Result<std::int64_t> read_constant(const Manifest& manifest, std::string_view name,
                                   std::int64_t least = 1) {
  const auto found = manifest.constants.find(std::string(name));
  const std::string label = "manifest.json: constants." + std::string(name);
  if (found == manifest.constants.end()) return Error{ErrorCode::kArtifact, label + " is missing"};
  const auto* value = std::get_if<std::int64_t>(&found->second);
  if (value == nullptr || *value < least || *value > kLargest) {
    return Error{ErrorCode::kArtifact, label + " is not an integer from " + std::to_string(least) +
                                           " to " + std::to_string(kLargest)};
  }
  return *value;
}

Status check_methods(const Manifest& manifest) {
  for (const MethodForm& form : kMethods) {
    const Result<std::size_t> index = manifest.method_index(form.name);
    if (!index) return Error{ErrorCode::kArtifact, index.error().message};
    const MethodSpec& method = manifest.methods[*index];
    if (method.inputs.size() < form.inputs ||
        method.inputs.size() > form.inputs + form.optional_inputs ||
        method.outputs.size() != form.outputs) {
      return Error{ErrorCode::kArtifact,
                   "method '" + method.name + "' has " + std::to_string(method.inputs.size()) +
                       " inputs and " + std::to_string(method.outputs.size()) +
                       " outputs; the runner 'encoder_decoder' gives it " +
                       std::to_string(form.inputs) + " and takes " + std::to_string(form.outputs)};
    }
  }
  return {};
}

// The largest size of the first dimension of a method's first input.
std::int64_t largest_first_size(const MethodSpec& method) {
  for (const Symbol& symbol : method.symbols) {
    if (symbol.input == 0 && symbol.dimension == 0 && symbol.scale == 1) {
      return symbol.max > kLargest ? kLargest : symbol.max + symbol.offset;
    }
  }
  return 1;
}

}  // namespace

Result<EncoderDecoderLimits> EncoderDecoderLimits::read(const Manifest& manifest) {
  EncoderDecoderLimits limits{};
  for (const auto& [name, member] : kConstants) {
    const Result<std::int64_t> value = read_constant(manifest, name);
    if (!value) return value.error();
    limits.*member = *value;
  }
  if (const Status checked = check_methods(manifest); !checked) return checked.error();
  if (manifest.methods[*manifest.method_index("decode")].inputs.size() > kInputsOfDecode) {
    const Result<std::int64_t> padding = read_constant(manifest, "padding_id", 0);
    if (!padding) return padding.error();
    limits.uncounted = static_cast<TokenId>(*padding);
  }
  limits.max_sources = largest_first_size(manifest.methods[*manifest.method_index("encode")]);
  if (limits.pages_for(limits.max_length) > limits.pages ||
      limits.pages_for(limits.max_source_length) > limits.cross_pages) {
    return Error{ErrorCode::kArtifact,
                 "manifest.json: constants.pages or constants.cross_pages is too small for one "
                 "sequence of max_length and one source of max_source_length positions"};
  }
  return limits;
}

}  // namespace polystate
