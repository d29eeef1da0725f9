#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace polystate {

// Which artifacts have a constant, a method or an input.
enum class Presence : std::uint8_t {
  kAlways,
  kWithSources,      // those that encode sources, and only those
  kWithWindowTable,  // those whose `forward` has `window_table`, and only those
  kOptional,
};

// An integer among the manifest's constants.
struct ConstantForm {
  std::string_view name;
  Presence presence;
};

// An int64 input of a method, which is found by its name.
struct InputForm {
  std::string_view name;
  std::size_t rank;
  Presence presence = Presence::kAlways;
};

struct MethodForm {
  std::string_view name;
  std::span<const InputForm> inputs;
  std::size_t outputs;
  Presence presence = Presence::kAlways;
};

// What artifacts have whose constant `runner` is "token_model"; docs/artifact.md says what each of
// it means.
std::vector<ConstantForm> token_model_constants();
std::span<const MethodForm> token_model_methods();

}  // namespace polystate
