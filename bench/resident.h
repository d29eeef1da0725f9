#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace polystate::bench {

// Bytes of this process that /proc/self/status calls `field` (Linux, proc(5)); 0 if it is absent.
inline std::int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return 1024 * std::stoll(line.substr(field.size() + 1));
  }
  return 0;
}

// In memory now.
inline std::int64_t resident_bytes() { return status_bytes("VmRSS"); }

// In memory at the peak.
inline std::int64_t resident_bytes_at_most() { return status_bytes("VmHWM"); }

}  // namespace polystate::bench
