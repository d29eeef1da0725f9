#pragma once

#include <cstdint>

#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/linear/packed_weights.h"

// What products with float32 weights need beside the loops of all products; as they are included.
namespace polystate::linear {

// The vectors of an instruction set as rows and tiles of a product; `Local` adds the sizes of
// blocks.
template <typename Local, template <typename> typename Floats>
struct FloatTiles : Floats<Local> {
  FloatTiles() = delete;

  using Own = Floats<Local>;
  using Vector = typename Own::Vector;
  static constexpr std::int64_t kVectors = kTileColumns / Own::kWidth;  // of a tile

  using Product = FloatProduct;
  struct Columns {
    Columns(const FloatWeights& weights, std::int64_t first, std::int64_t count)
        : bias(weights.bias == nullptr ? Own::set(0)
                                       : Own::load_some(weights.bias + first, count)) {}

    Vector bias;
  };

  struct Weights {
    Vector columns[kVectors];
  };
  // Copied vector by vector: GCC 12 keeps in memory what it copies as a whole.
  struct Sums {
    explicit Sums(Vector first) {
      for (Vector& part : parts) part = first;
    }
    Sums() = default;
    Sums(const Sums& other) { *this = other; }
    Sums& operator=(const Sums& other) {
      if (this == &other) return *this;
      for (int i = 0; i < kVectors; ++i) parts[i] = other.parts[i];
      return *this;
    }
    ~Sums() = default;

    Vector parts[kVectors];
  };
  using Values = Vector;

  static Sums first_sums(const FloatRows& /*rows*/, std::int64_t /*row*/) {
    return Sums(Own::set(0));
  }
  static Values broadcast(const float* row, std::int64_t step) { return Own::set(row[step]); }
  static Weights load_weights(const float* from) {
    Weights weights;
    for (int i = 0; i < kVectors; ++i) weights.columns[i] = Own::load(from + i * Own::kWidth);
    return weights;
  }
  static Sums add_products(Sums sums, Values x, const Weights& w) {
    for (int i = 0; i < kVectors; ++i) {
      sums.parts[i] = Own::multiply_add(x, w.columns[i], sums.parts[i]);
    }
    return sums;
  }
  static Vector result(const Sums& sums, int part, const FloatRows& /*rows*/, std::int64_t /*row*/,
                       const Columns& columns) {
    return Own::add(sums.parts[part], columns.bias);
  }
};

}  // namespace polystate::linear
