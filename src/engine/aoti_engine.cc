#include "engine/aoti_engine.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/aoti_component.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"

namespace polystate {
namespace {

constexpr const char* kLibrary = "libpolystate_aoti.so";

Error unusable(const std::string& why) {
  return Error{ErrorCode::kUnsupported,
               "the program is for AOTInductor, whose engine is the library " +
                   std::string(kLibrary) + ": " + why +
                   "; it comes with the Python package polystate and with builds that have "
                   "POLYSTATE_AOTI on, and needs libtorch of the package torch (LD_LIBRARY_PATH "
                   "may name the folders of both)"};
}

// Loads the library, once a process. What it has is found by the libraries of methods too.
Result<const AotiComponent*> component() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return unusable(::dlerror());
  const auto* const found =
      static_cast<const AotiComponent*>(::dlsym(library, "polystate_aoti_component"));
  if (found == nullptr) return unusable("it is none of polystate's");
  if (std::string_view(found->version) != kAotiComponentVersion) {
    return unusable("it is of version " + std::string(found->version) + ", not " +
                    kAotiComponentVersion);
  }
  return found;
}

}  // namespace

Result<std::unique_ptr<Engine>> make_aoti_engine(const Artifact& artifact,
                                                 const ModelOptions& options) {
  static std::mutex mutex;
  static const AotiComponent* loaded = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (loaded == nullptr) {
      const Result<const AotiComponent*> found = component();
      if (!found) return found.error();  // another time it may be there
      loaded = *found;
    }
  }
  return loaded->make_engine(artifact, options);
}

}  // namespace polystate
