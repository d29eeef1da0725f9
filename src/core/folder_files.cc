#include "core/folder_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "core/file.h"
#include "polystate/core/result.h"

namespace polystate {

bool FolderFiles::has(const std::string& name) const {
  std::error_code ignored;
  return std::filesystem::exists(folder_ / name, ignored);
}

Result<std::string> FolderFiles::read(const std::string& name, std::uint64_t limit) const {
  return read_text_file(folder_ / name, limit);
}

std::vector<std::string> FolderFiles::names_in(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code failed;  // there is no such folder, or its end is not reached
  std::filesystem::directory_iterator entry(folder_ / folder, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
    names.push_back(folder + "/" + entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace polystate
