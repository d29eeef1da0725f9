#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/named_files.h"
#include "polystate/core/result.h"

namespace polystate {

// The files of a folder, which is looked at anew for each.
class FolderFiles final : public NamedFiles {
 public:
  explicit FolderFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::filesystem::path& place() const override { return folder_; }
  [[nodiscard]] bool has(const std::string& name) const override;
  [[nodiscard]] Result<std::string> read(const std::string& name,
                                         std::uint64_t limit) const override;
  [[nodiscard]] std::vector<std::string> names_in(const std::string& folder) const override;

 private:
  std::filesystem::path folder_;
};

}  // namespace polystate
