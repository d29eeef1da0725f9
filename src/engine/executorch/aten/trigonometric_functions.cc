#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>

#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/faster.h"
#include "engine/executorch/aten/near_and_far.h"
#include "engine/executorch/aten/polynomials.h"
#include "engine/executorch/operators/listed.h"

// Trigonometric functions and their inverses, hyperbolic functions, and hypotenuses. Those of
// float64 call the standard library.
namespace polystate {
namespace {

// An angle as a number of quarter turns, and what is left of it.
struct Angle {
  float rest;              // radians, at most an eighth of a turn to either side
  std::uint64_t quarters;  // modulo 2^51
};

// A function of an angle.
struct OfAngle {
  static constexpr float kFar = 1.0e6F;  // below 2^20 quarter turns, as `angle_of` takes
};

// Pi / 2 is in three parts, of which the first two have 33 bits: their products with up to 2^20
// quarter turns are exact.
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

struct Sin : OfAngle {
  static constexpr char kName[] = "sin";
  static float near(float x) { return sine_of(angle_of(x), 0); }
  template <typename T>
  static T of(T x) {
    return std::sin(x);
  }
};

struct Cos : OfAngle {
  static constexpr char kName[] = "cos";
  static float near(float x) { return sine_of(angle_of(x), 1); }
  template <typename T>
  static T of(T x) {
    return std::cos(x);
  }
};

struct Tan : OfAngle {
  static constexpr char kName[] = "tan";
  static float near(float x) { return tangent_of(angle_of(x)); }
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

// An angle a with asin(size) = a, or pi / 2 - 2 a for a size above 1/2. Cephes' polynomial.
float arc_sine_angle(float size, bool is_large) {
  const float square = is_large ? 0.5F * (1.0F - size) : size * size;
  const float x = is_large ? std::sqrt(square) : size;
  constexpr auto kSeries = coefficients<float>(
      {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1});
  return polynomial(kSeries, square) * square * x + x;
}

// These choose before the polynomial alone: where a condition chooses before and after it, a
// compiler makes branches of it.
struct Asin : OfFloatsAlone {
  static constexpr char kName[] = "asin";
  static float of(float x) {
    const float size = std::abs(x);
    const bool is_large = size > 0.5F;
    const float begin = is_large ? kPi / 2 : 0.0F;
    const float factor = is_large ? -2.0F : 1.0F;
    return std::copysign(begin + factor * arc_sine_angle(size, is_large), x);
  }
  static double of(double x) { return std::asin(x); }
};

struct Acos : OfFloatsAlone {
  static constexpr char kName[] = "acos";
  static float of(float x) {
    const float size = std::abs(x);
    const bool is_large = size > 0.5F;
    const float begin_of_large = x > 0.0F ? 0.0F : kPi;
    const float begin = is_large ? begin_of_large : kPi / 2;
    const float factor = std::copysign(1.0F, x) * (is_large ? 2.0F : -1.0F);
    return begin + factor * arc_sine_angle(size, is_large);
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
  return listed<OfNearAndFar<Sin>, OfNearAndFar<Cos>, OfNearAndFar<Tan>, FasterOfOne<Asin>,
                FasterOfOne<Acos>, FasterOfOne<Atan>, FasterOfTwo<Atan2>, Added<Hypot, kFormOfTwo>,
                FasterOfOne<Sinh>, FasterOfOne<Cosh>>();
}

}  // namespace polystate
