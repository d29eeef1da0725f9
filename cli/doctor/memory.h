#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace polystate::cli {

// The memory that this process can still have.
struct Memory {
  std::uint64_t bytes = 0;
  std::string bound;  // what sets it: "the machine", "a control group", "ulimit -v"
};

// Of a Linux system, whose files are below `root`; nothing where it does not say.
std::optional<Memory> inspect_memory(const std::filesystem::path& root = "/");

}  // namespace polystate::cli
