#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace polystate::cli {

// The memory that this process can still have.
struct Memory {
  std::uint64_t bytes = 0;
  std::string bound;              // what sets it: "the machine", "a control group", "ulimit -v"
  bool limits_addresses = false;  // not only what is used counts, but what is reserved
};

// Of a Linux system, whose files are below `root`; nothing where it does not say. Control groups
// are read in their version 2.
std::optional<Memory> inspect_memory(const std::filesystem::path& root = "/");

}  // namespace polystate::cli
