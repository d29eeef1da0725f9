#include "kernels/fourier/passes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "kernels/vectors/compiler_vector.h"

namespace polystate {
namespace {

// A pass over `stride` transforms side by side: of `x` [radix, rest, stride] into `y`
// [rest, radix, stride].
template <typename T>
struct PassCall {
  const Pass<T>* pass;
  Parts<T> x;
  Parts<T> y;
  std::int64_t stride;
};

// How many elements are computed with at once.
template <typename T>
inline constexpr std::size_t kWidest = 32 / sizeof(T);

// A complex number, or several.
template <typename Value>
struct Number {
  Value real;
  Value imag;
};

template <typename Value>
[[gnu::always_inline]] inline Number<Value> operator+(const Number<Value>& a,
                                                      const Number<Value>& b) {
  return {a.real + b.real, a.imag + b.imag};
}
template <typename Value>
[[gnu::always_inline]] inline Number<Value> operator-(const Number<Value>& a,
                                                      const Number<Value>& b) {
  return {a.real - b.real, a.imag - b.imag};
}
template <typename Value, typename T>
[[gnu::always_inline]] inline Number<Value> scaled(const Number<Value>& a, T scale) {
  return {scale * a.real, scale * a.imag};
}
// Times -i.
template <typename Value>
[[gnu::always_inline]] inline Number<Value> turned_back(const Number<Value>& a) {
  return {a.imag, -a.real};
}
template <typename Value, typename Factor>
[[gnu::always_inline]] inline Number<Value> product(const Number<Value>& a,
                                                    const Number<Factor>& b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}

template <typename Value, std::size_t kRadix>
using Numbers = std::array<Number<Value>, kRadix>;

// The transform of `kRadix` numbers, each written out. T is the type of an element.
template <typename T, typename Value>
[[gnu::always_inline]] inline void transform(Numbers<Value, 2>& a) {
  a = {a[0] + a[1], a[0] - a[1]};
}

template <typename T, typename Value>
[[gnu::always_inline]] inline void transform(Numbers<Value, 3>& a) {
  constexpr T kSine = std::numbers::sqrt3_v<T> / 2;
  const auto sum = a[1] + a[2];
  const auto centre = a[0] - scaled(sum, T(0.5));
  const auto turned = scaled(turned_back(a[1] - a[2]), kSine);
  a = {a[0] + sum, centre + turned, centre - turned};
}

template <typename T, typename Value>
[[gnu::always_inline]] inline void transform(Numbers<Value, 4>& a) {
  const auto even = a[0] + a[2];
  const auto odd = a[1] + a[3];
  const auto centre = a[0] - a[2];
  const auto turned = turned_back(a[1] - a[3]);
  a = {even + odd, centre + turned, even - odd, centre - turned};
}

template <typename T, typename Value>
[[gnu::always_inline]] inline void transform(Numbers<Value, 5>& a) {
  constexpr auto kCosine1 = static_cast<T>(0.30901699437494742410229341718281906L);  // of 2 pi / 5
  constexpr auto kSine1 = static_cast<T>(0.95105651629515357211643933337938214L);
  constexpr auto kCosine2 = static_cast<T>(-0.80901699437494742410229341718281906L);  // of 4 pi / 5
  constexpr auto kSine2 = static_cast<T>(0.58778525229247312916870595463907277L);
  const auto outer = a[1] + a[4];
  const auto inner = a[2] + a[3];
  const auto outer_turned = turned_back(a[1] - a[4]);
  const auto inner_turned = turned_back(a[2] - a[3]);
  const auto centre1 = a[0] + (scaled(outer, kCosine1) + scaled(inner, kCosine2));
  const auto centre2 = a[0] + (scaled(outer, kCosine2) + scaled(inner, kCosine1));
  const auto turned1 = scaled(outer_turned, kSine1) + scaled(inner_turned, kSine2);
  const auto turned2 = scaled(outer_turned, kSine2) - scaled(inner_turned, kSine1);
  a = {a[0] + (outer + inner), centre1 + turned1, centre2 + turned2, centre2 - turned2,
       centre1 - turned1};
}

// Transforms x[0], x[step]..., and turns the results by their twiddles.
template <typename T, typename Value, std::size_t kRadix, typename Twiddle>
[[gnu::always_inline]] inline Numbers<Value, kRadix> butterfly(
    Parts<T> x, std::int64_t step, const Numbers<Twiddle, kRadix>& twiddles) {
  Numbers<Value, kRadix> a;
  for (std::size_t j = 0; j < kRadix; ++j) {
    const auto at = static_cast<std::int64_t>(j) * step;
    load(x.real + at, a[j].real);
    load(x.imag + at, a[j].imag);
  }
  transform<T>(a);
  for (std::size_t k = 1; k < kRadix; ++k) a[k] = product(a[k], twiddles[k]);
  return a;
}

// The twiddles of one `p` or of several, of which the first has no use.
template <typename T, typename Value, std::size_t kRadix>
[[gnu::always_inline]] inline Numbers<Value, kRadix> twiddles_at(const Pass<T>& pass,
                                                                 std::int64_t p) {
  Numbers<Value, kRadix> twiddles{};
  for (std::size_t k = 1; k < kRadix; ++k) {
    const std::int64_t at = (static_cast<std::int64_t>(k) - 1) * pass.rest + p;
    load(pass.real.data() + at, twiddles[k].real);
    load(pass.imag.data() + at, twiddles[k].imag);
  }
  return twiddles;
}

// How many numbers a value has.
template <typename T, typename Value>
inline constexpr std::size_t kValues =
    sizeof(Value) / sizeof(T);  // NOLINT(bugprone-sizeof-expression): of a number it is 1

// Columns `q` on, as many as there are whole values of before `stride`; returns the next one.
template <typename T, typename Value, std::size_t kRadix>
[[gnu::always_inline]] inline std::int64_t columns(const PassCall<T>& call, std::int64_t p,
                                                   const Numbers<T, kRadix>& twiddles,
                                                   std::int64_t q) {
  constexpr auto kWidth = static_cast<std::int64_t>(kValues<T, Value>);
  const std::int64_t stride = call.stride;
  const Parts<T> x = call.x.from(stride * p);
  const Parts<T> y = call.y.from(stride * static_cast<std::int64_t>(kRadix) * p);
  for (; q + kWidth <= stride; q += kWidth) {
    const auto a = butterfly<T, Value, kRadix, T>(x.from(q), call.pass->rest * stride, twiddles);
    for (std::size_t k = 0; k < kRadix; ++k) {
      const auto at = static_cast<std::int64_t>(k) * stride + q;
      store(a[k].real, y.real + at);
      store(a[k].imag, y.imag + at);
    }
  }
  return q;
}

// Of one column, in which several `p` are taken at once; returns the next one.
template <typename T, typename Value, std::size_t kRadix>
[[gnu::always_inline]] inline std::int64_t rows(const PassCall<T>& call, std::int64_t p) {
  constexpr std::size_t kWidth = kValues<T, Value>;
  const std::int64_t rest = call.pass->rest;
  for (; p + static_cast<std::int64_t>(kWidth) <= rest; p += static_cast<std::int64_t>(kWidth)) {
    const auto twiddles = twiddles_at<T, Value, kRadix>(*call.pass, p);
    const auto a = butterfly<T, Value, kRadix, Value>(call.x.from(p), rest, twiddles);
    const Parts<T> y = call.y.from(static_cast<std::int64_t>(kRadix) * p);
    std::array<std::array<T, kWidth>, kRadix> real;
    std::array<std::array<T, kWidth>, kRadix> imag;
    for (std::size_t k = 0; k < kRadix; ++k) {
      store(a[k].real, real[k].data());
      store(a[k].imag, imag[k].data());
    }
    for (std::size_t i = 0; i < kWidth; ++i) {
      for (std::size_t k = 0; k < kRadix; ++k) {
        y.real[i * kRadix + k] = real[k][i];
        y.imag[i * kRadix + k] = imag[k][i];
      }
    }
  }
  return p;
}

template <typename T, std::size_t kRadix>
[[gnu::always_inline]] inline void fixed_pass(const PassCall<T>& call) {
  if (call.stride == 1) {
    rows<T, T, kRadix>(call, rows<T, CompilerVector<T, kWidest<T>>, kRadix>(call, 0));
    return;
  }
  for (std::int64_t p = 0; p < call.pass->rest; ++p) {
    const auto twiddles = twiddles_at<T, T, kRadix>(*call.pass, p);
    std::int64_t q = columns<T, CompilerVector<T, kWidest<T>>, kRadix>(call, p, twiddles, 0);
    q = columns<T, CompilerVector<T, kWidest<T> / 2>, kRadix>(call, p, twiddles, q);
    columns<T, T, kRadix>(call, p, twiddles, q);
  }
}

// Of any radix, by its definition.
template <typename T>
void any_pass(const PassCall<T>& call) {
  const Pass<T>& pass = *call.pass;
  const std::int64_t stride = call.stride;
  const std::int64_t step = pass.rest * stride;
  for (std::int64_t p = 0; p < pass.rest; ++p) {
    const Parts<T> x = call.x.from(stride * p);
    for (std::int64_t k = 0; k < pass.radix; ++k) {
      const Parts<T> y = call.y.from(stride * (pass.radix * p + k));
      T* __restrict y_real = y.real;
      T* __restrict y_imag = y.imag;
      for (std::int64_t q = 0; q < stride; ++q) {
        y_real[q] = x.real[q];
        y_imag[q] = x.imag[q];
      }
      for (std::int64_t j = 1; j < pass.radix; ++j) {
        const auto root = static_cast<std::size_t>(j * k % pass.radix);
        const Number<T> turn{pass.root_real[root], pass.root_imag[root]};
        const T* __restrict x_real = x.real + j * step;
        const T* __restrict x_imag = x.imag + j * step;
        for (std::int64_t q = 0; q < stride; ++q) {
          y_real[q] += x_real[q] * turn.real - x_imag[q] * turn.imag;
          y_imag[q] += x_real[q] * turn.imag + x_imag[q] * turn.real;
        }
      }
      if (k == 0) continue;
      const auto at = static_cast<std::size_t>((k - 1) * pass.rest + p);
      const Number<T> twiddle{pass.real[at], pass.imag[at]};
      for (std::int64_t q = 0; q < stride; ++q) {
        const T real = y_real[q];
        y_real[q] = real * twiddle.real - y_imag[q] * twiddle.imag;
        y_imag[q] = real * twiddle.imag + y_imag[q] * twiddle.real;
      }
    }
  }
}

template <typename T>
void run_pass(const PassCall<T>& call) {
  switch (call.pass->radix) {
    case 2:
      return fixed_pass<T, 2>(call);
    case 3:
      return fixed_pass<T, 3>(call);
    case 4:
      return fixed_pass<T, 4>(call);
    case 5:
      return fixed_pass<T, 5>(call);
    default:
      return any_pass(call);
  }
}

// Fours first, whose first pass is the one that the compiler vectorises best.
std::vector<std::int64_t> factors_of(std::int64_t size) {
  std::vector<std::int64_t> factors;
  for (; size % 4 == 0; size /= 4) factors.push_back(4);
  for (std::int64_t factor = 2; size > 1; ++factor) {
    for (; size % factor == 0; size /= factor) factors.push_back(factor);
  }
  return factors;
}

}  // namespace

template <typename T>
UnitRoot<T> unit_root(std::int64_t k, std::int64_t size) {
  // Sines and cosines of an eighth of the circle at the most are the most exact: k / size is taken
  // apart into quarters, and what is left of one, exactly.
  k %= size;
  const std::int64_t quarters = (8 * k + size) / (2 * size);
  const std::int64_t rest = 4 * k - quarters * size;  // of 4 size, from -size / 2 to size / 2
  const double angle = std::numbers::pi / 2 * static_cast<double>(rest) / static_cast<double>(size);
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  const std::array<double, 4> cosines{cosine, -sine, -cosine, sine};
  const std::array<double, 4> sines{sine, cosine, -sine, -cosine};
  const auto quarter = static_cast<std::size_t>(quarters % 4);
  return {static_cast<T>(cosines[quarter]), static_cast<T>(-sines[quarter])};
}

template <typename T>
std::vector<Pass<T>> passes_for(std::int64_t size) {
  std::vector<Pass<T>> passes;
  for (const std::int64_t radix : factors_of(size)) {
    Pass<T> pass{radix, size / radix, {}, {}, {}, {}};
    for (std::int64_t k = 1; k < radix; ++k) {
      for (std::int64_t p = 0; p < pass.rest; ++p) {
        const UnitRoot<T> root = unit_root<T>(k * p, size);
        pass.real.push_back(root.real);
        pass.imag.push_back(root.imag);
      }
    }
    for (std::int64_t k = 0; k < radix; ++k) {
      const UnitRoot<T> root = unit_root<T>(k, radix);
      pass.root_real.push_back(root.real);
      pass.root_imag.push_back(root.imag);
    }
    size = pass.rest;
    passes.push_back(std::move(pass));
  }
  return passes;
}

template <typename T>
void run_passes(std::span<const Pass<T>> passes, Parts<T> values, Parts<T> scratch,
                std::int64_t lanes, InstructionSet set) {
  if (passes.empty()) return;
  const auto run = vectorised<run_pass<T>>(set);
  const std::int64_t count = passes.front().radix * passes.front().rest * lanes;
  Parts<T> x = values;
  Parts<T> y = scratch;
  std::int64_t stride = lanes;
  for (const Pass<T>& pass : passes) {
    run({&pass, x, y, stride});
    stride *= pass.radix;
    std::swap(x, y);
  }
  if (x.real == values.real) return;
  std::copy_n(x.real, count, values.real);
  std::copy_n(x.imag, count, values.imag);
}

template UnitRoot<float> unit_root(std::int64_t, std::int64_t);
template UnitRoot<double> unit_root(std::int64_t, std::int64_t);
template std::vector<Pass<float>> passes_for(std::int64_t);
template std::vector<Pass<double>> passes_for(std::int64_t);
template void run_passes(std::span<const Pass<float>>, Parts<float>, Parts<float>, std::int64_t,
                         InstructionSet);
template void run_passes(std::span<const Pass<double>>, Parts<double>, Parts<double>, std::int64_t,
                         InstructionSet);

}  // namespace polystate
