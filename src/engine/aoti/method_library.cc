#include "engine/aoti/method_library.h"

#include <dlfcn.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp
#include <torch/csrc/inductor/aoti_runtime/utils.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "core/file.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// A folder that only this user can enter, removed with all that is in it.
class PrivateFolder {
 public:
  static Result<PrivateFolder> create() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string name = (error ? std::filesystem::path("/tmp") : parent) / "polystate-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      return Error{ErrorCode::kIo, "cannot make the folder '" + name + "': " + errno_text(errno)};
    }
    return PrivateFolder(name);
  }
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

Status write(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return {};
  return Error{ErrorCode::kIo, "cannot write '" + path.string() + "': " + errno_text(errno)};
}

// The name of the first function that the library lacks; nothing when it has them all.
std::optional<std::string> find_function(void* handle, const char* name, auto& function) {
  function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
  return function == nullptr ? std::optional<std::string>(name) : std::nullopt;
}

}  // namespace

void MethodLibrary::Close::operator()(void* handle) const { ::dlclose(handle); }

Result<MethodLibrary> MethodLibrary::load(const std::string& name,
                                          std::span<const std::byte> library) {
  const Result<PrivateFolder> folder = PrivateFolder::create();
  if (!folder) return folder.error();
  const std::filesystem::path file = folder->path() / (name + ".so");
  if (const Status written = write(file, library); !written) return written.error();
  MethodLibrary loaded;
  loaded.handle_.reset(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (loaded.handle_ == nullptr) {
    return Error{ErrorCode::kArtifact,
                 "the library of method '" + name + "' does not load: " + ::dlerror()};
  }
  void* const handle = loaded.handle_.get();
  std::optional<std::string> missing;
  const auto find = [&](const char* symbol, auto& function) {
    if (!missing) missing = find_function(handle, symbol, function);
  };
  find("AOTInductorModelContainerCreateWithDevice", loaded.create);
  find("AOTInductorModelContainerDelete", loaded.destroy);
  find("AOTInductorModelContainerRunSingleThreaded", loaded.run);
  find("AOTInductorModelContainerGetNumInputs", loaded.count_inputs);
  find("AOTInductorModelContainerGetNumOutputs", loaded.count_outputs);
  find("AOTInductorModelContainerGetNumConstants", loaded.count_constants);
  find("AOTInductorModelContainerGetConstantName", loaded.constant_name);
  find("AOTInductorModelContainerGetConstantOriginalFQN", loaded.constant_fqn);
  find("AOTInductorModelContainerGetConstantDtype", loaded.constant_dtype);
  find("AOTInductorModelContainerGetConstantDataSize", loaded.constant_bytes);
  find("AOTInductorModelContainerUpdateUserManagedConstantBufferPairs", loaded.set_constants);
  find("AOTInductorGetLastError", loaded.get_last_error_);
  if (missing) {
    return Error{ErrorCode::kArtifact,
                 "the library of method '" + name + "' has no function " + *missing};
  }
  return loaded;
}

std::string MethodLibrary::last_error() const {
  const char* message = nullptr;
  if (get_last_error_(&message) != AOTI_RUNTIME_SUCCESS || message == nullptr) return {};
  return message;
}

}  // namespace polystate
