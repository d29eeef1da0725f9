#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// softmax and log_softmax.
namespace polystate {
namespace {

// Lanes that lie side by side are computed so many at a time, and the elements of one lane, where
// they lie one after another, in so many parts.
constexpr std::int64_t kWidth = 16;
// Powers that are added up in float32, before their sum is added to the others.
constexpr std::int64_t kChunk = 256;

inline float power_of(float x) { return branchless::exponential(x); }
inline double power_of(double x) { return std::exp(x); }

// Of `size` rows of `width` numbers, `stride` apart from each other, each column by itself. What
// has a NaN, or no largest number, becomes NaN.
template <typename Number, bool kIsLogarithm>
void of_columns(const Number* from, Number* to, std::int64_t size, std::int64_t width,
                std::int64_t stride) {
  std::array<Number, kWidth> largest;
  largest.fill(-std::numeric_limits<Number>::infinity());
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      const Number x = from[i * stride + j];
      auto& most = largest[static_cast<std::size_t>(j)];
      most = x > most ? x : most;
    }
  }
  std::array<double, kWidth> sums{};
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      const auto place = static_cast<std::size_t>(j);
      sums[place] += static_cast<double>(power_of(from[i * stride + j] - largest[place]));
    }
  }
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      const auto place = static_cast<std::size_t>(j);
      const Number less = from[i * stride + j] - largest[place];
      if constexpr (kIsLogarithm) {
        to[i * stride + j] = less - static_cast<Number>(std::log(sums[place]));
      } else {
        to[i * stride + j] = power_of(less) / static_cast<Number>(sums[place]);
      }
    }
  }
}

template <typename Number>
Number largest_of(const Number* numbers, std::int64_t count) {
  std::array<Number, kWidth> largest;
  largest.fill(-std::numeric_limits<Number>::infinity());
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    for (std::int64_t j = 0; j < kWidth; ++j) {
      auto& most = largest[static_cast<std::size_t>(j)];
      most = numbers[i + j] > most ? numbers[i + j] : most;
    }
  }
  for (; i < count; ++i) largest[0] = numbers[i] > largest[0] ? numbers[i] : largest[0];
  return *std::ranges::max_element(largest);
}

// Puts e^(x - `largest`) into `powers`, and adds them up.
template <typename Number>
double sum_of_powers(const Number* numbers, std::int64_t count, Number largest, Number* powers) {
  double sum = 0.0;
  for (std::int64_t first = 0; first < count; first += kChunk) {
    const std::int64_t last = std::min(count, first + kChunk);
    for (std::int64_t i = first; i < last; ++i) powers[i] = power_of(numbers[i] - largest);
    std::array<Number, kWidth> parts{};
    std::int64_t i = first;
    for (; i + kWidth <= last; i += kWidth) {
      for (std::int64_t j = 0; j < kWidth; ++j) {
        parts[static_cast<std::size_t>(j)] += powers[i + j];
      }
    }
    for (; i < last; ++i) parts[0] += powers[i];
    for (const Number part : parts) sum += static_cast<double>(part);
  }
  return sum;
}

// Of numbers that lie one after another; `to` may be where they lie.
template <typename Number, bool kIsLogarithm>
void of_row(const Number* from, Number* to, std::int64_t count) {
  const Number largest = largest_of(from, count);
  if constexpr (kIsLogarithm) {
    std::array<Number, kChunk> powers;
    double sum = 0.0;
    for (std::int64_t i = 0; i < count; i += kChunk) {
      sum += sum_of_powers(from + i, std::min(kChunk, count - i), largest, powers.data());
    }
    const auto logarithm = static_cast<Number>(std::log(sum));
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] - largest - logarithm;
  } else {
    const auto sum = static_cast<Number>(sum_of_powers(from, count, largest, to));
    for (std::int64_t i = 0; i < count; ++i) to[i] = to[i] / sum;
  }
}

// Floats of 16 bits are converted a row, or a block of columns, at a time.
template <typename Number, bool kIsLogarithm>
class Shares {
 public:
  Shares(const Lanes& lanes, const TensorArgument& self, const TensorArgument& out)
      : lanes_(lanes), numbers_(self), results_(out), out_(out.bytes()) {}

  void fill() const { lanes_.inner == 1 ? fill_rows() : fill_columns(); }

 private:
  // Where results that are not converted go.
  [[nodiscard]] Number* at(std::int64_t place) const {
    return reinterpret_cast<Number*>(out_) + place;
  }

  [[nodiscard]] std::vector<Number> buffer(std::int64_t count) const {
    return std::vector<Number>(static_cast<std::size_t>(numbers_.converts() ? count : 0));
  }

  void fill_rows() const {
    const auto row = vectorised<&of_row<Number, kIsLogarithm>>(best_instruction_set());
    const std::int64_t size = lanes_.size;
    for_each_range(lanes_.outer, size, [&](std::int64_t first, std::int64_t last) {
      std::vector<Number> converted = buffer(size);
      for (std::int64_t start = first * size; start < last * size; start += size) {
        const Number* const from = numbers_.at(start, size, converted.data());
        row(from, numbers_.converts() ? converted.data() : at(start), size);
        if (numbers_.converts()) results_.put(start, converted.data(), size);
      }
    });
  }

  void fill_columns() const {
    const std::int64_t blocks = (lanes_.inner + kWidth - 1) / kWidth;
    for_each_range(lanes_.outer * blocks, lanes_.size * kWidth,
                   [&](std::int64_t first, std::int64_t last) {
                     std::vector<Number> converted = buffer(lanes_.size * kWidth);
                     for (std::int64_t i = first; i < last; ++i) {
                       const std::int64_t column = i % blocks * kWidth;
                       const std::int64_t start = i / blocks * lanes_.size * lanes_.inner + column;
                       fill_block(start, std::min(kWidth, lanes_.inner - column), converted.data());
                     }
                   });
  }

  void fill_block(std::int64_t start, std::int64_t width, Number* converted) const {
    const auto columns = vectorised<&of_columns<Number, kIsLogarithm>>(best_instruction_set());
    if (!numbers_.converts()) {
      columns(numbers_.at(start, width, nullptr), at(start), lanes_.size, width, lanes_.inner);
      return;
    }
    for (std::int64_t i = 0; i < lanes_.size; ++i) {
      numbers_.read(start + i * lanes_.inner, width, converted + i * width);
    }
    columns(converted, converted, lanes_.size, width, width);
    for (std::int64_t i = 0; i < lanes_.size; ++i) {
      results_.put(start + i * lanes_.inner, converted + i * width, width);
    }
  }

  const Lanes& lanes_;
  ReadAs<Number> numbers_;
  WriteAs<Number> results_;
  std::byte* out_;
};

template <bool kIsLogarithm>
Status compute(ProgramArguments& arguments) {
  const TensorArgument self = arguments.tensor(0);
  const std::int64_t dimension = arguments.integer(1);
  if (!arguments.status()) return arguments.status();
  if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
  const Result<Lanes> lanes = lanes_along(self, dimension);
  if (!lanes) return lanes.error();
  const Result<TensorArgument> out = arguments.result_at(3, self.dtype(), self.shape());
  if (!out) return out.error();
  if (!is_float(self.dtype())) return refused("it computes floats");
  if (self.element_count() == 0) return {};
  if (self.dtype() == DType::kFloat64) {
    Shares<double, kIsLogarithm>(*lanes, self, *out).fill();
  } else {
    Shares<float, kIsLogarithm>(*lanes, self, *out).fill();
  }
  return {};
}

struct Softmax {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::_softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return compute<false>(arguments); }
};

struct LogSoftmax {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::_log_softmax.out(Tensor self, int dim, bool half_to_float, *, "
      "Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) { return compute<true>(arguments); }
};

}  // namespace

std::span<const ListedOperator> softmax_operators() { return listed<Softmax, LogSoftmax>(); }

}  // namespace polystate
