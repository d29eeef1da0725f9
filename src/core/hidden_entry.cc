#include "core/hidden_entry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>

#include "core/file.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

constexpr std::time_t kSecondsUntilAbandoned = 3'600;

// Whether an entry still has the name that it was made under.
bool has_its_name(const HiddenEntry& entry) {
  struct stat status{};
  if (::fstat(entry.descriptor.get(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode)) return status.st_nlink != 0;
  // Of folders, some file systems do not count the names.
  return ::faccessat(AT_FDCWD, entry.path.c_str(), F_OK, AT_EACCESS) == 0;
}

FileDescriptor open_hidden(const std::filesystem::path& path, HiddenKind kind) {
  const char* const name = path.c_str();
  return FileDescriptor(kind == HiddenKind::kFile
                            ? ::open(name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
                            : ::open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Looks at the age first: the lock of what is young is left to the process that has just made it.
bool is_abandoned(const FileDescriptor& entry, HiddenKind kind) {
  struct stat status{};
  if (!entry.is_open() || ::fstat(entry.get(), &status) != 0) return false;
  const bool is_of_kind = kind == HiddenKind::kFile
                              ? S_ISREG(status.st_mode)
                              : S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
  return is_of_kind && std::time(nullptr) - status.st_mtime > kSecondsUntilAbandoned &&
         try_lock(entry) == Lock::kOurs;
}

}  // namespace

Result<HiddenEntry> make_hidden(const std::function<Result<HiddenEntry>()>& make,
                                const Error& otherwise) {
  constexpr int kMostTries = 100;
  for (int i = 0; i < kMostTries; ++i) {
    Result<HiddenEntry> made = make();
    if (!made) return made;
    if (try_lock(made->descriptor) != Lock::kTaken && has_its_name(*made)) return made;
    std::error_code ignored;
    std::filesystem::remove_all(made->path, ignored);
  }
  return otherwise;
}

void remove_abandoned(const std::filesystem::path& folder, HiddenKind kind,
                      bool (*is_hidden_name)(std::string_view)) {
  std::error_code ended;
  const std::filesystem::directory_iterator last;
  for (std::filesystem::directory_iterator entry(folder, ended); !ended && entry != last;
       entry.increment(ended)) {
    const std::filesystem::path& path = entry->path();
    if (!is_hidden_name(path.filename().string())) continue;
    const FileDescriptor descriptor = open_hidden(path, kind);
    std::error_code ignored;
    if (is_abandoned(descriptor, kind)) std::filesystem::remove_all(path, ignored);
  }
}

}  // namespace polystate
