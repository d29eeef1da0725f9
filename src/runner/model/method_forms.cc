#include "runner/model/method_forms.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/runner/token_model_form.h"

namespace polystate {
namespace {

constexpr std::string_view kEncode = "encode";

constexpr std::string_view kWindowTable = "window_table";

constexpr std::array<InputForm, 9> kForwardInputs = {{{"input_ids", 1},
                                                      {"positions", 1},
                                                      {"rows", 1},
                                                      {"page_table", 2},
                                                      {"cross_table", 2, Presence::kWithSources},
                                                      {"cross_lengths", 1, Presence::kWithSources},
                                                      {"wanted", 1},
                                                      {"counted", 1, Presence::kOptional},
                                                      {kWindowTable, 2, Presence::kOptional}}};
constexpr std::array<InputForm, 3> kEncodeInputs = {
    {{"input_ids", 2}, {"lengths", 1}, {"cross_table", 2}}};
constexpr std::array<InputForm, 2> kCopyPagesInputs = {{{"source", 1}, {"target", 1}}};

constexpr std::array<MethodForm, 4> kMethods = {
    {{"forward", kForwardInputs, 1},
     {"copy_pages", kCopyPagesInputs, 0},
     {"copy_window_pages", kCopyPagesInputs, 0, Presence::kWithWindowTable},
     {kEncode, kEncodeInputs, 0, Presence::kWithSources}}};

bool is_given(const InputForm& input, bool sources) {
  return input.presence != Presence::kWithSources || sources;
}

Status check_input(const MethodSpec& method, std::size_t index, const MethodForm& form,
                   bool sources) {
  const InputSpec& input = method.inputs[index];
  const auto found = std::ranges::find(form.inputs, input.name, &InputForm::name);
  if (found == form.inputs.end() || !is_given(*found, sources)) {
    return Error{ErrorCode::kArtifact,
                 input_label(method, index) + " is none that the runner 'token_model' gives" +
                     (found == form.inputs.end() ? "" : " where there is no method 'encode'")};
  }
  if (input.dtype != DType::kInt64 || input.shape.size() != found->rank) {
    return Error{ErrorCode::kArtifact, input_label(method, index) + " is " +
                                           std::string(name_of(input.dtype)) + " of " +
                                           std::to_string(input.shape.size()) +
                                           " dimensions; the runner 'token_model' gives int64 of " +
                                           std::to_string(found->rank)};
  }
  return {};
}

Status check_method(const MethodSpec& method, const MethodForm& form, bool sources) {
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    if (Status checked = check_input(method, i, form, sources); !checked) return checked;
  }
  for (const InputForm& input : form.inputs) {
    if (input.presence == Presence::kOptional || !is_given(input, sources)) continue;
    if (std::ranges::find(method.inputs, input.name, &InputSpec::name) == method.inputs.end()) {
      return Error{ErrorCode::kArtifact, "method '" + method.name + "' has no input '" +
                                             std::string(input.name) +
                                             "', which the runner 'token_model' gives"};
    }
  }
  if (method.outputs.size() == form.outputs) return {};
  return Error{ErrorCode::kArtifact,
               "method '" + method.name + "' has " + std::to_string(method.outputs.size()) +
                   " outputs; the runner 'token_model' takes " + std::to_string(form.outputs)};
}

}  // namespace

std::span<const MethodForm> token_model_methods() { return kMethods; }

bool has_sources(const Manifest& manifest) { return manifest.method_index(kEncode).has_value(); }

bool has_window_table(const Manifest& manifest) {
  const Result<std::size_t> forward = manifest.method_index("forward");
  if (!forward) return false;
  const auto& inputs = manifest.methods[*forward].inputs;
  return std::ranges::find(inputs, kWindowTable, &InputSpec::name) != inputs.end();
}

Status check_methods(const Manifest& manifest) {
  const bool sources = has_sources(manifest);
  for (const MethodForm& form : kMethods) {
    if (form.presence == Presence::kWithSources && !sources) continue;
    if (form.presence == Presence::kWithWindowTable && !has_window_table(manifest)) continue;
    const Result<std::size_t> index = manifest.method_index(form.name);
    if (!index) return Error{ErrorCode::kArtifact, index.error().message};
    if (Status checked = check_method(manifest.methods[*index], form, sources); !checked) {
      return checked;
    }
  }
  return {};
}

}  // namespace polystate
