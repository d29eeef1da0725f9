#pragma once

// Functions of the vectors `S` of an instruction set. *_floats.h have what these need, as templates
// over a type that is local to the file that includes them: what is compiled for one instruction
// set must not stand in for the same function elsewhere.
namespace polystate::vectors {

// e^x with a relative error below 2e-7, and 0 where it is below 1.3e-38; for x <= 88. The
// polynomial is that of Cephes' expf.
template <typename S>
typename S::Vector exp(typename S::Vector x) {
  const auto lowest = S::set(-87);
  const auto bounded = S::max(x, lowest);
  const auto power = S::round(S::multiply(bounded, S::set(1.44269504088896341F)));
  auto rest = S::multiply_add(power, S::set(-0.693359375F), bounded);
  rest = S::multiply_add(power, S::set(2.12194440e-4F), rest);
  auto result = S::set(1.9875691500e-4F);
  constexpr float kCoefficients[] = {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F,
                                     1.6666665459e-1F, 5.0000001201e-1F};
  for (const float coefficient : kCoefficients) {
    result = S::multiply_add(result, rest, S::set(coefficient));
  }
  result = S::multiply_add(result, S::multiply(rest, rest), S::add(rest, S::set(1)));
  return S::select_less(x, lowest, S::set(0), S::times_power_of_two(result, power));
}

// tanh(x) with a relative error below 3e-7: Cephes' polynomial around 0, else by e^2x.
template <typename S>
typename S::Vector tanh(typename S::Vector x) {
  const auto zero = S::set(0);
  const auto one = S::set(1);
  const auto negative = S::subtract(zero, x);
  // From 9.02 on the nearest float is 1.
  const auto size = S::min(S::max(x, negative), S::set(10));
  const auto power = exp<S>(S::add(size, size));
  const auto far = S::subtract(one, S::divide(S::set(2), S::add(power, one)));
  const auto signed_far = S::select_less(x, zero, S::subtract(zero, far), far);

  const auto square = S::multiply(x, x);
  auto near = S::set(-5.70498872745e-3F);
  constexpr float kCoefficients[] = {2.06390887954e-2F, -5.37397155531e-2F, 1.33314422036e-1F,
                                     -3.33332819422e-1F};
  for (const float coefficient : kCoefficients) {
    near = S::multiply_add(near, square, S::set(coefficient));
  }
  near = S::multiply_add(S::multiply(near, square), x, x);
  return S::select_less(size, S::set(0.625F), near, signed_far);
}

// x / (1 + e^-x) with a relative error below 4e-7, and 0 below -88, where it is above -1e-36.
template <typename S>
typename S::Vector silu(typename S::Vector x) {
  const auto power = exp<S>(S::min(S::subtract(S::set(0), x), S::set(88)));
  const auto result = S::divide(x, S::add(S::set(1), power));
  return S::select_less(x, S::set(-88), S::set(0), result);
}

}  // namespace polystate::vectors
