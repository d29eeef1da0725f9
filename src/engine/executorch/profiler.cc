#include "engine/executorch/profiler.h"

#include <executorch/devtools/etdump/etdump_flatcc.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace polystate {

std::vector<std::byte> Profiler::take() {
  if (recorder_.get_num_blocks() == 0) {
    return {};
  }
  const executorch::etdump::ETDumpResult result = recorder_.get_etdump_data();
  const std::unique_ptr<void, void (*)(void*)> owner(result.buf, &std::free);
  const auto* const first = static_cast<const std::byte*>(result.buf);
  std::vector<std::byte> bytes(first, first + result.size);
  recorder_.reset();
  return bytes;
}

}  // namespace polystate
