#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "core/wrapping.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/aten/reductions.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/parallel.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Operators whose results along a dimension depend on all elements before.
namespace polystate {
namespace {

// log(exp(a) + exp(b)). Which of two is NaN matters: std::min and std::max return the first then.
template <typename T>
T log_of_sum(T a, T b) {
  const T low = std::isnan(b) ? b : std::min(a, b);
  const T high = std::isnan(b) ? b : std::max(a, b);
  if (low == high && !std::isfinite(low)) return a;
  return std::log1p(std::exp(low - high)) + high;
}

// Calls `work.operator()<Number>()` with what scans of a type are kept in. PyTorch scans float32 in
// double precision on a CPU.
template <typename Work>
void with_scanned_type(DType dtype, const Work& work) {
  if (is_float(dtype) && size_of(dtype) == 2) return work.template operator()<float>();
  if (is_float(dtype)) return work.template operator()<double>();
  work.template operator()<std::int64_t>();
}

template <typename T>
using Some = std::array<T, kNumbersAtOnce>;

// What is scanned at once: whole lanes, one behind the other, if the elements of each lie side by
// side, or else neighbouring lanes, of which each step has one element.
struct Strip {
  std::int64_t start;  // the place of the first element
  std::int64_t lanes;
  std::int64_t size;  // of a lane
  std::int64_t step;  // from one element of a lane to the next
};

// Calls `work(strip)` for strips that make up all lanes. Neighbouring lanes are as many as fill a
// line of the processor's cache, at least: then no two threads write to one line.
template <typename Work>
void for_each_strip(const Lanes& lanes, const Work& work) {
  if (lanes.inner == 1) {
    for_each_range(lanes.outer, lanes.size, [&](std::int64_t first, std::int64_t last) {
      work(
          Strip{.start = first * lanes.size, .lanes = last - first, .size = lanes.size, .step = 1});
    });
    return;
  }
  constexpr std::int64_t kLeast = 64;
  const std::int64_t share = lanes.count() / thread_count();
  const std::int64_t most =
      std::min(lanes.inner, std::clamp<std::int64_t>(share, kLeast, kNumbersAtOnce));
  const std::int64_t strips = most == 0 ? 0 : (lanes.inner + most - 1) / most;
  for_each_range(lanes.outer * strips, lanes.size * most, [&](auto first, auto last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t inner = i % strips * most;
      work(Strip{.start = i / strips * lanes.size * lanes.inner + inner,
                 .lanes = std::min(most, lanes.inner - inner),
                 .size = lanes.size,
                 .step = lanes.inner});
    }
  });
}

// How many elements of a lane are tested together for whether they change anything.
constexpr std::int64_t kTestedTogether = 16;

// Elements of one lane.
template <typename Number>
struct Part {
  const Number* elements;
  std::int64_t count;
  std::int64_t place;         // of the first in its lane
  std::int64_t first_result;  // the index of its result
};

// Scans a part of a lane: `next(known, element, place)` makes what is known before an element at a
// place of its lane what is known after it. That goes to `results`, as `keep(i, known)` for the
// ith. Where there is a function `next.is_same_after(known, elements)`, it tells whether the next
// `kTestedTogether` elements change nothing; then `repeat(i, count, known)` writes their results.
template <typename Number, typename Known, typename Next, typename Results>
void scan_part(const Part<Number>& part, Known& known, const Next& next, Results& results) {
  const auto take = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      next(known, part.elements[i], part.place + i);
      results.keep(part.first_result + i, known);
    }
  };
  std::int64_t i = 0;
  if constexpr (requires { next.is_same_after(known, part.elements); }) {
    for (; i + kTestedTogether <= part.count; i += kTestedTogether) {
      if (next.is_same_after(known, part.elements + i)) {
        results.repeat(part.first_result + i, kTestedTogether, known);
      } else {
        take(i, i + kTestedTogether);
      }
    }
  }
  take(i, part.count);
}

// Scans whole lanes. `results.begin(at)` comes before the results of some elements from `at` on,
// and `results.end(at, count)` after them.
template <typename Number, typename Known, typename Next, typename Results>
void scan_along(const ReadAs<Number>& from, const Strip& strip, const Known& nothing,
                const Next& next, Results& results) {
  Some<Number> buffer;
  Known known = nothing;
  const std::int64_t last = strip.start + strip.lanes * strip.size;
  std::int64_t place = 0;
  for (std::int64_t at = strip.start; at < last; at += kNumbersAtOnce) {
    const std::int64_t count = std::min(kNumbersAtOnce, last - at);
    const Number* const x = from.at(at, count, buffer.data());
    results.begin(at);
    for (std::int64_t i = 0; i < count;) {
      if (place == strip.size) {
        place = 0;
        known = nothing;
      }
      const Part<Number> part{.elements = x + i,
                              .count = std::min(count - i, strip.size - place),
                              .place = place,
                              .first_result = i};
      scan_part(part, known, next, results);
      i += part.count;
      place += part.count;
    }
    results.end(at, count);
  }
}

// The same, of neighbouring lanes. Where these are all there are, several elements of each are read
// at a time.
template <typename Number, typename Known, typename Next, typename Results>
void scan_across(const ReadAs<Number>& from, const Strip& strip, const Known& nothing,
                 const Next& next, Results& results) {
  Some<Number> buffer;
  Some<Known> known;
  std::fill_n(known.begin(), strip.lanes, nothing);
  const std::int64_t most = strip.lanes == strip.step ? kNumbersAtOnce / strip.lanes : 1;
  for (std::int64_t first = 0; first < strip.size; first += most) {
    const std::int64_t rows = std::min(most, strip.size - first);
    const std::int64_t at = strip.start + first * strip.step;
    const Number* x = from.at(at, rows * strip.lanes, buffer.data());
    results.begin(at);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < strip.lanes; ++i) {
        Known& each = known[static_cast<std::size_t>(i)];
        next(each, *x++, first + row);
        results.keep(row * strip.lanes + i, each);
      }
    }
    results.end(at, rows * strip.lanes);
  }
}

template <typename Number, typename Known, typename Next, typename Results>
void scan(const ReadAs<Number>& from, const Strip& strip, const Known& nothing, const Next& next,
          Results results) {
  if (strip.step == 1) {
    scan_along(from, strip, nothing, next, results);
  } else {
    scan_across(from, strip, nothing, next, results);
  }
}

// Results of a scan, as elements of a tensor of any type.
template <typename Number>
class ScannedNumbers {
 public:
  explicit ScannedNumbers(const TensorArgument& out) : out_(out) {}

  void begin(std::int64_t at) { numbers_ = out_.room(at, buffer_.data()); }
  void keep(std::int64_t i, Number number) { numbers_[i] = number; }
  void repeat(std::int64_t i, std::int64_t count, Number number) {
    std::fill_n(numbers_ + i, count, number);
  }
  void end(std::int64_t at, std::int64_t count) { out_.put(at, numbers_, count); }

 private:
  WriteAs<Number> out_;
  Number* numbers_ = nullptr;
  Some<Number> buffer_;
};

// The first element is combined with `initial`, as every other with what is before it. PyTorch
// converts to the results' type first.
template <typename Combine>
Status accumulate(ProgramArguments& arguments, std::size_t out_index, double initial,
                  const Combine& combine) {
  const TensorArgument self = arguments.tensor(0);
  const std::int64_t dimension = arguments.integer(1);
  if (!arguments.status()) return arguments.status();
  if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
  const Result<Lanes> lanes = lanes_along(self, dimension);
  if (!lanes) return lanes.error();
  const Result<TensorArgument> out = arguments.result_at(out_index, self.shape());
  if (!out) return out.error();
  const bool converts = self.dtype() != out->dtype();
  const std::vector<std::byte> elements =
      converts ? elements_as(out->dtype(), self) : std::vector<std::byte>();
  with_scanned_type(out->dtype(), [&]<typename Number>() {
    const ReadAs<Number> from(converts ? elements.data() : self.bytes(), out->dtype());
    for_each_strip(*lanes, [&](const Strip& strip) {
      scan(
          from, strip, static_cast<Number>(initial),
          [&](Number& total, Number x, std::int64_t) { total = combine(total, x); },
          ScannedNumbers<Number>(*out));
    });
  });
  return {};
}

struct Cumprod {
  static constexpr OperatorSchema kSchema{
      "aten::cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> "
      "Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return accumulate(arguments, 3, 1.0,
                      [](auto total, auto x) { return wrapping_product(total, x); });
  }
};

// ExecuTorch's own adds up in the result's type.
struct Cumsum {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return accumulate(arguments, 3, 0.0, [](auto total, auto x) { return wrapping_sum(total, x); });
  }
};

struct Logcumsumexp {
  static constexpr OperatorSchema kSchema{
      "aten::logcumsumexp.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    constexpr double kNothing = -std::numeric_limits<double>::infinity();
    return accumulate(arguments, 2, kNothing, [](auto total, auto x) {
      if constexpr (std::is_floating_point_v<decltype(total)>) {
        return log_of_sum(x, total);
      } else {
        return total;  // PyTorch refuses integers
      }
    });
  }
};

template <typename Number>
struct Best {
  Number value;
  std::int64_t place;
};

template <typename Number>
class BestElements {
 public:
  BestElements(const TensorArgument& values, const TensorArgument& places)
      : values_(values), places_(elements<std::int64_t>(places).data()) {}

  void begin(std::int64_t at) {
    values_.begin(at);
    next_ = places_ + at;
  }
  void keep(std::int64_t i, const Best<Number>& best) {
    values_.keep(i, best.value);
    next_[i] = best.place;
  }
  void repeat(std::int64_t i, std::int64_t count, const Best<Number>& best) {
    values_.repeat(i, count, best.value);
    std::fill_n(next_ + i, count, best.place);
  }
  void end(std::int64_t at, std::int64_t count) { values_.end(at, count); }

 private:
  ScannedNumbers<Number> values_;
  std::int64_t* places_;
  std::int64_t* next_ = nullptr;
};

// Takes each element that is as good as the best one so far; NaN is better than any number.
template <typename Better>
struct NextBest {
  template <typename Number>
  static bool is_taken(Number best, Number x) {
    return is_nan(x) || Better::of(best, x) == x;
  }

  template <typename Number>
  void operator()(Best<Number>& best, Number x, std::int64_t place) const {
    if (is_taken(best.value, x)) best = {x, place};
  }

  template <typename Number>
  bool is_same_after(const Best<Number>& best, const Number* x) const {
    std::uint32_t taken = 0;
    for (std::int64_t i = 0; i < kTestedTogether; ++i) {
      taken |= static_cast<std::uint32_t>(is_taken(best.value, x[i]));
    }
    return taken == 0;
  }
};

// The largest so far, or the smallest, and where it was met last.
template <typename Better>
Status extremes(ProgramArguments& arguments) {
  const TensorArgument self = arguments.tensor(0);
  const std::int64_t dimension = arguments.integer(1);
  if (!arguments.status()) return arguments.status();
  if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
  const Result<Lanes> lanes = lanes_along(self, dimension);
  if (!lanes) return lanes.error();
  const Result<TensorArgument> values = arguments.result_at(2, self.dtype(), self.shape());
  if (!values) return values.error();
  const Result<TensorArgument> indices = arguments.result_at(3, DType::kInt64, self.shape());
  if (!indices) return indices.error();
  with_number_type(self.dtype(), [&]<typename Number>() {
    const ReadAs<Number> from(self);
    for_each_strip(*lanes, [&](const Strip& strip) {
      scan(from, strip, Best<Number>{Better::template nothing<Number>(), 0}, NextBest<Better>(),
           BestElements<Number>(*values, *indices));
    });
  });
  return {};
}

struct Cummax {
  static constexpr OperatorSchema kSchema{
      "aten::cummax.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> "
      "(Tensor(a!) values, Tensor(b!) indices)"};
  static Status run(ProgramArguments& arguments) { return extremes<Larger>(arguments); }
};

struct Cummin {
  static constexpr OperatorSchema kSchema{
      "aten::cummin.out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> "
      "(Tensor(a!) values, Tensor(b!) indices)"};
  static Status run(ProgramArguments& arguments) { return extremes<Smaller>(arguments); }
};

}  // namespace

std::span<const ListedOperator> scan_operators() {
  return listed<Cumsum, Cumprod, Cummax, Cummin, Logcumsumexp>();
}

}  // namespace polystate
