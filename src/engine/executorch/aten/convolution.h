#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/executorch/aten/triples.h"
#include "kernels/tensor_argument.h"

namespace polystate {

// A convolution of signals, planes or volumes, the first two as volumes of which the first sizes
// are 1. Of its input and its result one is fine and one is coarse: a place of the coarse one is at
// `place * stride - padding + tap * dilation` of the fine one, for each tap of the kernel. The
// result is the coarse one, or the fine one where the convolution is transposed.
struct Convolution {
  TensorArgument input;                // [batch, groups * inputs, sizes...]
  TensorArgument weight;               // [groups * outputs, inputs, kernel...]; where transposed
                                       // [groups * inputs, outputs, kernel...]
  std::optional<TensorArgument> bias;  // [groups * outputs]
  TensorArgument out;                  // [batch, groups * outputs, results...]
  bool is_transposed = false;
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t inputs = 0;   // channels of a group
  std::int64_t outputs = 0;  // the same, of the result
  Triple sizes{1, 1, 1};     // of the input
  Triple kernel{1, 1, 1};
  Triple stride{1, 1, 1};
  Triple padding{0, 0, 0};
  Triple dilation{1, 1, 1};
  Triple results{1, 1, 1};  // sizes of the result

  [[nodiscard]] static std::int64_t product(const Triple& sizes) {
    return sizes[0] * sizes[1] * sizes[2];
  }
  [[nodiscard]] const Triple& coarse() const { return is_transposed ? sizes : results; }
  [[nodiscard]] const Triple& fine() const { return is_transposed ? results : sizes; }
  // Steps of a sum, of which one is an element of the result.
  [[nodiscard]] std::int64_t depth() const { return inputs * product(kernel); }
};

// Neighbours in the coarse one, and where the first of them lies in the fine one; the others follow
// at distances of the stride.
struct Reach {
  std::int64_t coarse = 0;
  std::int64_t fine = 0;
  std::int64_t count = 0;
};

// What each tap along dimension `i` reaches: all that lies in both.
std::vector<Reach> reaches_along(const Convolution& convolution, std::size_t i);

// Computes a convolution of any type, a row of results at a time, tap by tap. Taps that lie in the
// padding add nothing.
void convolve_by_taps(const Convolution& convolution);

// The same as products of matrices, which is faster where a group has several outputs. Needs
// float32, an input and a weight with elements, and finite weights where there is padding: its taps
// are multiplied by 0. Copies the input where it is padded.
void convolve_by_products(const Convolution& convolution);

}  // namespace polystate
