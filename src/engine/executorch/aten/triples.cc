#include "engine/executorch/aten/triples.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

namespace polystate {

Result<Triple> triple(ProgramArguments& arguments, std::size_t index, std::size_t rank,
                      std::int64_t otherwise, std::int64_t least) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int64_t> given = arguments.integers(index);
  if (!arguments.status()) return arguments.status().error();
  if (given.size() != 1 && given.size() != rank) {
    return refused("argument " + std::to_string(index) + " has " + std::to_string(given.size()) +
                   " numbers, not " + std::to_string(rank));
  }
  Triple numbers{otherwise, otherwise, otherwise};
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t number = given.size() == 1 ? given[0] : given[i];
    if (number < least || number > kMost) {
      return refused("argument " + std::to_string(index) + " has " + std::to_string(number));
    }
    numbers[3 - rank + i] = number;
  }
  return numbers;
}

}  // namespace polystate
