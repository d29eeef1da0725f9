#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/aoti/processor.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// A method as its archive has it. All memory is the archive's.
struct PackedMethod {
  Tensor library;                           // bytes
  std::map<std::string, Tensor> constants;  // by the name that the library has for them
};

// The content of a model.pt2 (docs/artifact.md).
struct Pt2Archive {
  ProcessorNeeds processor;
  std::vector<PackedMethod> methods;  // by the manifest's order
  // Whether the libraries say when their kernels begin and end.
  bool tells_kernels = false;
  std::vector<Tensor> initial;  // bytes of every state that does not start as zeros, in order

  // Reads `file`, which must outlive what is returned. kArtifact when something is damaged, missing
  // or not of the manifest's sizes.
  static Result<Pt2Archive> read(std::span<const std::byte> file, const Manifest& manifest);
};

}  // namespace polystate
