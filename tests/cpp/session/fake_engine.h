#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "polystate/engine/engine.h"
#include "polystate/session/model.h"

namespace polystate {

// What a fake engine does, and what was asked of it. Shared by a test and all sessions of the
// engine.
struct FakeScript {
  // Answers a call of method `method`, given the memory of all states.
  std::function<Result<std::vector<Tensor>>(std::size_t method, std::span<const Tensor> inputs,
                                            std::vector<std::vector<std::byte>>& states)>
      run;
  bool state_intact = true;  // after a failed run
  int runs = 0;
  int resets = 0;
  int live_sessions = 0;
  bool engine_is_gone = false;
};

// A model over a fake engine with two states, `cache` (float32 [3], zeros) and `count` (int64 [], 7
// at first), and five methods: `add` takes x (float32 [rows], 1 to 4 rows), `fill` writes its
// input, `get` takes nothing, `turn` takes and returns complex numbers (complex64 [2]), and so does
// `spin`, which writes the cache. None returns anything by itself. With other weights it is another
// model.
Model fake_model(const std::shared_ptr<FakeScript>& script, char weights = 'w');

}  // namespace polystate
