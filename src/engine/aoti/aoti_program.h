#pragma once

#include <torch/csrc/inductor/aoti_runtime/interface.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/aoti/method_library.h"
#include "engine/aoti/pt2_archive.h"
#include "engine/aoti/tensor_handle.h"
#include "engine/state_layout.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate {

// A method of a program, with what all sessions share of it.
class AotiMethod {
 public:
  // `constants` outlive the method. kArtifact where the library is not what the manifest and the
  // archive say.
  static Result<AotiMethod> load(const MethodSpec& spec, const PackedMethod& packed);

  struct Destroy {
    decltype(&AOTInductorModelContainerDelete) destroy;
    void operator()(AOTInductorModelContainerHandle container) const { (void)destroy(container); }
  };
  using Container = std::unique_ptr<AOTInductorModelContainerOpaque, Destroy>;

  // What one session runs, over the weights that all share. It outlives neither them nor this.
  [[nodiscard]] Result<Container> new_container() const;

  // Runs it; the inputs are gone afterwards. Outputs of one value may be one tensor. kEngine with
  // what AOTInductor says.
  [[nodiscard]] Result<std::vector<SharedTensor>> run(AOTInductorModelContainerHandle container,
                                                      std::vector<TensorHandle> inputs) const;

  [[nodiscard]] const MethodSpec& spec() const { return *spec_; }
  // The states that are its first inputs, in order.
  [[nodiscard]] const std::vector<std::size_t>& states() const { return states_; }

 private:
  struct Constant {
    std::string name;  // inside the library
    TensorHandle value;
  };

  AotiMethod(const MethodSpec& spec, MethodLibrary library);

  [[nodiscard]] Error failed(const std::string& what) const;
  Status check_arguments(AOTInductorModelContainerHandle container);
  Status find_constants(AOTInductorModelContainerHandle container, const PackedMethod& packed);

  const MethodSpec* spec_;
  MethodLibrary library_;
  std::vector<std::size_t> states_;
  std::size_t output_count_ = 0;
  std::vector<Constant> constants_;
};

// A program for AOTInductor: immutable, shared by sessions.
class AotiProgram {
 public:
  // Keeps `artifact`. Errors as make_engine.
  static Result<std::shared_ptr<const AotiProgram>> load(const Artifact& artifact);

  [[nodiscard]] const Manifest& manifest() const { return artifact_.manifest(); }
  [[nodiscard]] const std::vector<AotiMethod>& methods() const { return methods_; }
  // The file's bytes, in which the weights lie.
  [[nodiscard]] std::span<const std::byte> bytes() const { return artifact_.program()->bytes(); }

  // Whether the machine code says when its kernels begin and end.
  [[nodiscard]] bool tells_kernels() const { return archive_.tells_kernels; }

  // All states of a session lie in one arena, of so many bytes.
  [[nodiscard]] std::size_t state_bytes() const { return state_bytes_; }
  [[nodiscard]] const StateLayout& layout() const { return layout_; }

 private:
  explicit AotiProgram(Artifact artifact) : artifact_(std::move(artifact)) {}

  // One state after another.
  void lay_out_state();

  Artifact artifact_;
  Pt2Archive archive_;
  std::vector<AotiMethod> methods_;
  StateLayout layout_{{}};
  std::size_t state_bytes_ = 0;
};

}  // namespace polystate
