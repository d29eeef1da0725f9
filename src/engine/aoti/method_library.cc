#include "engine/aoti/method_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp
#include <sys/mman.h>
#include <torch/csrc/inductor/aoti_runtime/utils.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "core/file.h"
#include "core/hidden_entry.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// Where libraries are unpacked: what TMPDIR names, or else /tmp.
std::filesystem::path temporary_folder() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";
  return folder;
}

// `what` the system refuses in the folder for temporary files.
Error refused(const std::string& what, int code) {
  return {ErrorCode::kIo, what + ": " + errno_text(code) +
                              "; TMPDIR may name another folder, in which files can be written "
                              "and executed"};
}

// Names of the folders that libraries are unpacked into; mkdtemp chooses the last letters.
constexpr std::string_view kFolderBegin = ".polystate-library-";
constexpr std::string_view kFolderLetters = "XXXXXX";

bool is_folder_name(std::string_view name) {
  return name.size() == kFolderBegin.size() + kFolderLetters.size() &&
         name.starts_with(kFolderBegin);
}

// A folder that only this user can enter, removed with all that is in it. It is locked while it
// exists.
class PrivateFolder {
 public:
  static Result<PrivateFolder> create(const std::filesystem::path& parent) {
    const std::string what = "machine code cannot be unpacked into '" + parent.string() + "'";
    const auto make = [&]() -> Result<HiddenEntry> {
      std::string name = parent / (std::string(kFolderBegin) + std::string(kFolderLetters));
      if (::mkdtemp(name.data()) == nullptr) return refused(what, errno);
      FileDescriptor folder(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (folder.is_open()) return HiddenEntry{std::move(name), std::move(folder)};
      const int code = errno;
      ::rmdir(name.c_str());
      return refused(what, code);
    };
    Result<HiddenEntry> made = make_hidden(make, refused(what, EBUSY));
    if (!made) return made.error();
    return PrivateFolder(*std::move(made));
  }
  PrivateFolder(PrivateFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(HiddenEntry made)
      : path_(std::move(made.path)), lock_(std::move(made.descriptor)) {}

  std::filesystem::path path_;
  FileDescriptor lock_;
};

Status write(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return {};
  return refused("machine code cannot be written to '" + path.string() + "'", errno);
}

// That the file system and the system's rules let the code of a file be executed.
Status check_executable(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* const code = file.is_open()
                         ? ::mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0)
                         : MAP_FAILED;
  if (code != MAP_FAILED) {
    ::munmap(code, 1);
    return {};
  }
  return refused("machine code in '" + path.string() + "' cannot be executed", errno);
}

// The name of the first function that the library lacks; nothing when it has them all.
std::optional<std::string> find_function(void* handle, const char* name, auto& function) {
  function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
  return function == nullptr ? std::optional<std::string>(name) : std::nullopt;
}

}  // namespace

void MethodLibrary::remove_abandoned() {
  polystate::remove_abandoned(temporary_folder(), HiddenKind::kFolder, is_folder_name);
}

void MethodLibrary::Close::operator()(void* handle) const { ::dlclose(handle); }

Result<MethodLibrary> MethodLibrary::load(const std::string& name,
                                          std::span<const std::byte> library) {
  const Result<PrivateFolder> folder = PrivateFolder::create(temporary_folder());
  if (!folder) return folder.error();
  const std::filesystem::path file = folder->path() / (name + ".so");
  if (const Status written = write(file, library); !written) return written.error();
  MethodLibrary loaded;
  loaded.handle_.reset(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (loaded.handle_ == nullptr) {
    const std::string why = ::dlerror();
    // The artifact is to blame for what is no library, the folder for what may not be one.
    if (const Status able = check_executable(file); !able) return able.error();
    return Error{ErrorCode::kArtifact,
                 "the library of method '" + name + "' does not load: " + why};
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
