#include "cli/doctor/memory.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace polystate::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kKibi = 1024;

// The number behind a word at the start of a line ("MemAvailable:   12345 kB").
std::optional<std::uint64_t> number_after(const fs::path& file, std::string_view word) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    std::uint64_t number = 0;
    if (words >> first && first == word && words >> number) return number;
  }
  return {};
}

std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream text(file);
  std::uint64_t number = 0;
  if (text >> number) return number;
  return {};  // "max": no bound
}

std::uint64_t difference(std::uint64_t bound, std::uint64_t used) {
  return bound > used ? bound - used : 0;
}

std::optional<std::uint64_t> of_machine(const fs::path& proc) {
  const auto kibibytes = number_after(proc / "meminfo", "MemAvailable:");
  if (!kibibytes) return {};
  return (*kibibytes + number_after(proc / "meminfo", "SwapFree:").value_or(0)) * kKibi;
}

// What a control group of version 2 may still take. The system gives back what it keeps of files.
std::optional<std::uint64_t> of_group(const fs::path& group) {
  const auto bound = number_in(group / "memory.max");
  if (!bound) return {};
  const std::uint64_t used = number_in(group / "memory.current").value_or(0);
  return difference(
      *bound, difference(used, number_after(group / "memory.stat", "inactive_file").value_or(0)));
}

// The least of the process's group and those around it.
std::optional<std::uint64_t> of_groups(const fs::path& root) {
  std::ifstream lines(root / "proc/self/cgroup");
  std::string own;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) own = line.substr(4);
  }
  const fs::path top = root / "sys/fs/cgroup";
  std::optional<std::uint64_t> least;
  const auto take = [&least](const std::optional<std::uint64_t>& other) {
    if (other) least = std::min(*other, least.value_or(*other));
  };
  take(of_group(top));
  fs::path group = top;
  for (const fs::path& part : fs::path(own)) {
    group /= part;
    take(of_group(group));
  }
  return least;
}

std::optional<std::uint64_t> of_address_space(const fs::path& proc) {
  const std::string_view title = "Max address space";
  std::ifstream limits(proc / "self/limits");
  for (std::string line; std::getline(limits, line);) {
    if (!line.starts_with(title)) continue;
    std::istringstream words(line.substr(title.size()));
    std::uint64_t limit = 0;
    if (!(words >> limit)) return {};  // "unlimited"
    return difference(limit, number_after(proc / "self/status", "VmSize:").value_or(0) * kKibi);
  }
  return {};
}

}  // namespace

std::optional<Memory> inspect_memory(const fs::path& root) {
  std::optional<Memory> least;
  const auto take = [&least](const std::optional<std::uint64_t>& bytes, const char* bound,
                             bool limits_addresses = false) {
    if (bytes && (!least || *bytes < least->bytes))
      least = Memory{.bytes = *bytes, .bound = bound, .limits_addresses = limits_addresses};
  };
  take(of_machine(root / "proc"), "the machine");
  take(of_groups(root), "a control group");
  take(of_address_space(root / "proc"), "ulimit -v", true);
  return least;
}

}  // namespace polystate::cli
