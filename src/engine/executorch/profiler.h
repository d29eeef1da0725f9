#pragma once

#include <executorch/devtools/etdump/etdump_flatcc.h>

#include <cstddef>
#include <vector>

namespace polystate {

// Records what methods do as an ETDump.
class Profiler {
 public:
  // Outlives the methods that are loaded with it.
  executorch::runtime::EventTracer* tracer() { return &recorder_; }

  // The ETDump of everything since the last call; empty when nothing ran.
  std::vector<std::byte> take();

 private:
  executorch::etdump::ETDumpGen recorder_;
};

}  // namespace polystate
