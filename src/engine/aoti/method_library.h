#pragma once

#include <torch/csrc/inductor/aoti_runtime/interface.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "polystate/core/result.h"

namespace polystate {

// The machine code of a method, loaded into the process as long as this object lives.
class MethodLibrary {
 public:
  // Writes the library into a private folder, loads it, and removes the folder. `name` is the
  // method's, for messages. kArtifact when it is no library of AOTInductor; kIo when the folder for
  // temporary files does not let it be written or executed.
  static Result<MethodLibrary> load(const std::string& name, std::span<const std::byte> library);

  // Removes the private folders of this user that processes have left which a signal ended, an hour
  // ago or more.
  static void remove_abandoned();

  // Functions of aoti_runtime/interface.h. Each answers whether it succeeded.
  decltype(&AOTInductorModelContainerCreateWithDevice) create = nullptr;
  decltype(&AOTInductorModelContainerDelete) destroy = nullptr;
  decltype(&AOTInductorModelContainerRunSingleThreaded) run = nullptr;
  decltype(&AOTInductorModelContainerGetNumInputs) count_inputs = nullptr;
  decltype(&AOTInductorModelContainerGetNumOutputs) count_outputs = nullptr;
  decltype(&AOTInductorModelContainerGetNumConstants) count_constants = nullptr;
  decltype(&AOTInductorModelContainerGetConstantName) constant_name = nullptr;
  decltype(&AOTInductorModelContainerGetConstantOriginalFQN) constant_fqn = nullptr;
  decltype(&AOTInductorModelContainerGetConstantDtype) constant_dtype = nullptr;
  decltype(&AOTInductorModelContainerGetConstantDataSize) constant_bytes = nullptr;
  decltype(&AOTInductorModelContainerUpdateUserManagedConstantBufferPairs) set_constants = nullptr;

  // The message of the last call that failed on this thread; empty where there is none.
  [[nodiscard]] std::string last_error() const;

 private:
  struct Close {
    void operator()(void* handle) const;
  };

  decltype(&AOTInductorGetLastError) get_last_error_ = nullptr;
  std::unique_ptr<void, Close> handle_;
};

}  // namespace polystate
