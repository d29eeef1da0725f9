#pragma once

#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/arena.h"
#include "engine/executorch/output_memory.h"
#include "engine/input_writes.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// Memory that all methods of a session share; it outlives them. No two of them run at the same
// time.
struct SessionMemory {
  Arena activations;
  Arena state;
  executorch::extension::MallocMemoryAllocator temporary;  // for kernels; emptied after each
};

// One method of a program, initialised over a session's memory. ExecuTorch says what went wrong in
// its log only, so each call is made under a LogCapture.
class LoadedMethod {
 public:
  // Writes the initial values of the states that the method touches and that do not start as zeros.
  // `program`, `spec` and `tracer` (null: no profile) outlive the method. kUnsupported for a
  // missing operator, kArtifact for another failure.
  static Result<LoadedMethod> load(const executorch::runtime::Program& program,
                                   const MethodSpec& spec, SessionMemory& memory,
                                   executorch::runtime::EventTracer* tracer);

  // Where a buffer's live memory is; nothing for a buffer that the method does not have.
  std::optional<std::span<std::byte>> find_buffer(const std::string& name);

  // Checks and sets the inputs, whose memory is read until the end of execute; nothing has run
  // after an error.
  Status set_inputs(std::span<const Tensor> inputs);
  Status execute();

  // Copies of what the last execute left in memory that the next one, of any method, overwrites.
  Result<std::vector<Tensor>> outputs();
  // That memory itself, where an output is in row-major order.
  Result<std::vector<Tensor>> borrowed_outputs();
  // What it left for the inputs that the method mutates.
  Result<InputWrites> input_writes(std::span<const Tensor> inputs);

 private:
  // What a method's structures lie in, and how it finds the session's memory.
  struct Memory {
    explicit Memory(SessionMemory& session);

    std::array<executorch::runtime::Span<std::uint8_t>, 2> arenas;
    executorch::runtime::HierarchicalAllocator planned;
    executorch::extension::MallocMemoryAllocator structures;
    executorch::runtime::MemoryManager manager;
  };

  LoadedMethod(const MethodSpec& spec, std::unique_ptr<Memory> memory,
               executorch::runtime::Method method);

  Status set_input(std::size_t index, const Tensor& input);
  // kArtifact when the program has no memory for an output.
  [[nodiscard]] Status require_output_memory() const;
  using OutputOf = Result<Tensor> (LoadedMethod::*)(std::size_t program_output);
  Result<std::vector<Tensor>> collect_outputs(OutputOf output_of);
  // A copy where an output is not in row-major order, or not in memory for activations.
  Result<Tensor> borrow_output(std::size_t program_output);
  Result<Tensor> copy_output(std::size_t program_output);

  const MethodSpec* spec_;
  std::unique_ptr<Memory> memory_;  // the method has pointers into it
  executorch::runtime::Method method_;
  OutputMemory output_memory_;
  // Copies of inputs that end so close to the end of a page that kernels may read beyond it.
  std::vector<std::vector<std::byte>> padded_inputs_;
};

}  // namespace polystate
