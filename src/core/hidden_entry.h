#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "core/file.h"
#include "polystate/core/result.h"

namespace polystate {

// A file or a folder under a hidden name, which one process uses for a while and then removes. It
// is locked as long as it is open. A process that a signal ends leaves it behind, without a lock.
struct HiddenEntry {
  std::filesystem::path path;
  FileDescriptor descriptor;
};

// Locks what `make` makes, under a new name each time. Another process may take it for abandoned
// before it is locked; then this calls `make` again. The errors of `make`; `otherwise` when others
// are faster many times in turn. Where the file system has no locks, the entry stays unlocked.
Result<HiddenEntry> make_hidden(const std::function<Result<HiddenEntry>()>& make,
                                const Error& otherwise);

enum class HiddenKind : std::uint8_t { kFile, kFolder };

// Removes from `folder` what processes that are gone have left: entries of this kind and of such
// names whose lock is free and which nobody has written to for an hour; of folders, this user's. A
// lock alone does not tell, since machines that share a file system may each see their own locks
// only. Where there are no locks, or where `folder` cannot be listed, all entries stay.
void remove_abandoned(const std::filesystem::path& folder, HiddenKind kind,
                      bool (*is_hidden_name)(std::string_view));

}  // namespace polystate
