#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate {

// Which artifacts have a method or an input.
enum class Presence : std::uint8_t {
  kAlways,
  kWithSources,  // those that encode sources, and only those
  kOptional,
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

// The methods of artifacts whose constant `runner` is "token_model" (docs/artifact.md).
std::span<const MethodForm> token_model_methods();

// Whether the artifact encodes sources: it has the method `encode`.
bool has_sources(const Manifest& manifest);

// kArtifact when a method is missing, or has other inputs or outputs than its form.
Status check_methods(const Manifest& manifest);

}  // namespace polystate
