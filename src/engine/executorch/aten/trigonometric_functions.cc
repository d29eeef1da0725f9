#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/faster.h"
#include "engine/executorch/aten/named.h"
#include "engine/executorch/aten/polynomials.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

// Trigonometric functions and their inverses, hyperbolic functions, and hypotenuses. Those of
// float64 call the standard library.
namespace polystate {
namespace {

// An angle as a number of quarter turns, and what is left of it.
struct Angle {
  float rest;              // radians, at most an eighth of a turn to either side
  std::uint64_t quarters;  // modulo 2^51
};

// Up to 2^20 quarter turns their products with 33 bits are exact.
constexpr float kLargestAngle = 1.0e6F;

// Pi / 2 is in three parts, of which the first two have 33 bits: their products are exact.
Angle angle_of(float x) {
  constexpr double kHalfPi = 0x1.921fb544p+0;
  constexpr double kHalfPiMiddle = 0x1.0b4611a6p-34;
  constexpr double kHalfPiEnd = 0x1.3198a2e037073p-69;
  constexpr double kShift = 0x1.8p52;  // adding it rounds to a whole number
  const double given = x;
  const double shifted = given * (std::numbers::inv_pi * 2.0) + kShift;
  const double turns = shifted - kShift;
  const double rest = ((given - turns * kHalfPi) - turns * kHalfPiMiddle) - turns * kHalfPiEnd;
  return {static_cast<float>(rest), std::bit_cast<std::uint64_t>(shifted)};
}

// Cephes' polynomials, for an eighth of a turn.
float small_sine(float x) {
  const float square = x * x;
  constexpr auto kSeries =
      coefficients<float>({-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
  return std::copysign(polynomial(kSeries, square) * square * x + x, x);  // of -0, too
}

float small_cosine(float x) {
  const float square = x * x;
  constexpr auto kSeries =
      coefficients<float>({2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2});
  return polynomial(kSeries, square) * square * square - 0.5F * square + 1.0F;
}

// The sine of an angle that is `turned` further, in quarter turns.
float sine_of(const Angle& angle, std::uint64_t turned) {
  const std::uint64_t quarters = angle.quarters + turned;
  const float size = (quarters & 1U) != 0U ? small_cosine(angle.rest) : small_sine(angle.rest);
  return (quarters & 2U) != 0U ? -size : size;
}

float tangent_of(const Angle& angle) {
  const float sine = small_sine(angle.rest);
  const float cosine = small_cosine(angle.rest);
  const bool is_odd = (angle.quarters & 1U) != 0U;
  return (is_odd ? -cosine : sine) / (is_odd ? sine : cosine);
}

// Without a sign, the bits of infinities and NaN are above those of all numbers.
std::uint32_t size_bits(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFU; }

// Angles that are too large are computed again, one by one.
template <typename Function>
void each_angle(const float* const* operands, float* results, std::int64_t count) {
  constexpr std::int64_t kBlock = 256;
  constexpr auto kMost = std::bit_cast<std::uint32_t>(kLargestAngle);
  std::array<float, kBlock> found;  // the results may be the angles
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const float* const angles = operands[0] + first;
    const std::int64_t last = std::min(kBlock, count - first);
    std::uint32_t largest = 0;
    for (std::int64_t i = 0; i < last; ++i) {
      const std::uint32_t size = size_bits(angles[i]);
      largest = size > largest ? size : largest;
    }
    for (std::int64_t i = 0; i < last; ++i) found[i] = Function::of_small(angles[i]);
    for (std::int64_t i = 0; largest > kMost && i < last; ++i) {
      if (size_bits(angles[i]) > kMost) found[i] = Function::of(angles[i]);
    }
    for (std::int64_t i = 0; i < last; ++i) results[first + i] = found[i];
  }
}

template <typename Function>
struct OfAngles : Named<kFasterNamespace, Function::kName, kFormOfOne> {
  static Status run(ProgramArguments& arguments) {
    return compute_elements<OfAngles::kSchema>(
        arguments, {.of_floats = vectorised<&each_angle<Function>>(best_instruction_set()),
                    .of_doubles = &each_element<Function, double>});
  }
};

struct Sin {
  static constexpr char kName[] = "sin";
  static float of_small(float x) { return sine_of(angle_of(x), 0); }
  template <typename T>
  static T of(T x) {
    return std::sin(x);
  }
};

struct Cos {
  static constexpr char kName[] = "cos";
  static float of_small(float x) { return sine_of(angle_of(x), 1); }
  template <typename T>
  static T of(T x) {
    return std::cos(x);
  }
};

struct Tan {
  static constexpr char kName[] = "tan";
  static float of_small(float x) { return tangent_of(angle_of(x)); }
  template <typename T>
  static T of(T x) {
    return std::tan(x);
  }
};

constexpr auto kPi = std::numbers::pi_v<float>;

// Of 0 <= x: around 0, 1 or infinity. Cephes' polynomial.
float arc_tangent(float x) {
  constexpr float kFar = 2.414213562F;   // tan(3 pi / 8)
  constexpr float kNear = 0.414213562F;  // tan(pi / 8)
  const bool is_far = x > kFar;
  const bool is_near = !(x > kNear);
  const float dividend = is_near ? x : (is_far ? -1.0F : x - 1.0F);
  const float divisor = is_near ? 1.0F : (is_far ? x : x + 1.0F);
  const float begin = is_near ? 0.0F : (is_far ? kPi / 2 : kPi / 4);
  const float t = dividend / divisor;
  const float square = t * t;
  constexpr auto kSeries = coefficients<float>(
      {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1});
  return begin + (polynomial(kSeries, square) * square * t + t);
}

struct Atan : OfFloatsAlone {
  static constexpr char kName[] = "atan";
  static float of(float x) { return std::copysign(arc_tangent(std::abs(x)), x); }
  static double of(double x) { return std::atan(x); }
};

// Of equal sizes, infinite ones too, an eighth of a turn; of zeros none.
struct Atan2 : OfFloatsAlone {
  static constexpr char kName[] = "atan2";
  static float of(float y, float x) {
    const float height = std::abs(y);
    const float width = std::abs(x);
    const float larger = height > width ? height : width;
    const float smaller = height > width ? width : height;
    const float of_equals = larger == 0.0F ? 0.0F : 1.0F;
    const float acute = arc_tangent(smaller == larger ? of_equals : smaller / larger);
    const float turned = height > width ? kPi / 2 - acute : acute;
    const bool is_left = (std::bit_cast<std::uint32_t>(x) >> 31U) != 0U;
    const float found = std::copysign(is_left ? kPi - turned : turned, y);
    return x == x && y == y ? found : x + y;
  }
  static double of(double y, double x) { return std::atan2(y, x); }
};

// asin(size); for a size above 1/2 the angle a with asin(size) = pi / 2 - 2 a. Cephes' polynomial.
struct ArcSine {
  float angle;
  bool is_large;
};

ArcSine arc_sine(float size) {
  const bool is_large = size > 0.5F;
  const float square = is_large ? 0.5F * (1.0F - size) : size * size;
  const float x = is_large ? std::sqrt(square) : size;
  constexpr auto kSeries = coefficients<float>(
      {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1});
  return {polynomial(kSeries, square) * square * x + x, is_large};
}

struct Asin : OfFloatsAlone {
  static constexpr char kName[] = "asin";
  static float of(float x) {
    const ArcSine found = arc_sine(std::abs(x));
    return std::copysign(found.is_large ? kPi / 2 - 2.0F * found.angle : found.angle, x);
  }
  static double of(double x) { return std::asin(x); }
};

struct Acos : OfFloatsAlone {
  static constexpr char kName[] = "acos";
  static float of(float x) {
    const ArcSine found = arc_sine(std::abs(x));
    const float twice = 2.0F * found.angle;
    const float of_large = x > 0.0F ? twice : kPi - twice;
    return found.is_large ? of_large : kPi / 2 - std::copysign(found.angle, x);
  }
  static double of(double x) { return std::acos(x); }
};

struct Hypot : OfFloatsAlone {
  static constexpr char kName[] = "hypot";
  static float of(float x, float y) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const double width = x;
    const double height = y;
    const auto found = static_cast<float>(std::sqrt(width * width + height * height));
    return std::abs(x) == kInfinity || std::abs(y) == kInfinity ? kInfinity : found;
  }
  static double of(double x, double y) { return std::hypot(x, y); }
};

// Half of e^x for a large x, whose own power may be infinite.
float half_of_power(float x) {
  const float root = branchless::exponential_of_any(0.5F * x);
  return 0.5F * root * root;
}

constexpr float kLargeOfHyperbolic = 80.0F;

struct Sinh : OfFloatsAlone {
  static constexpr char kName[] = "sinh";
  static float of(float x) {
    const float size = std::abs(x);
    const float power = branchless::exponential_less_one(size);
    const float near = 0.5F * (power + power / (power + 1.0F));
    return std::copysign(size > kLargeOfHyperbolic ? half_of_power(size) : near, x);
  }
  static double of(double x) { return std::sinh(x); }
};

struct Cosh : OfFloatsAlone {
  static constexpr char kName[] = "cosh";
  static float of(float x) {
    const float size = std::abs(x);
    const float power = branchless::exponential_of_any(size);
    const float near = 0.5F * power + 0.5F / power;
    return size > kLargeOfHyperbolic ? half_of_power(size) : near;
  }
  static double of(double x) { return std::cosh(x); }
};

}  // namespace

std::span<const ListedOperator> trigonometric_operators() {
  return listed<OfAngles<Sin>, OfAngles<Cos>, OfAngles<Tan>, FasterOfOne<Asin>, FasterOfOne<Acos>,
                FasterOfOne<Atan>, FasterOfTwo<Atan2>, Added<Hypot, kFormOfTwo>, FasterOfOne<Sinh>,
                FasterOfOne<Cosh>>();
}

}  // namespace polystate
