#pragma once

// Functions of the vectors `S` of an instruction set. *_floats.h have what these need, as templates
// over a type that is local to the file that includes them: what is compiled for one instruction
// set must not stand in for the same function elsewhere.
namespace polystate::vectors {

// e^x for -87 <= x <= 88 with a relative error below 2e-7. The polynomial is that of Cephes' expf,
// summed in pairs, so that few operations wait for another.
template <typename S>
typename S::Vector bounded_exp(typename S::Vector x) {
  const auto power = S::round(S::multiply(x, S::set(1.44269504088896341F)));
  auto rest = S::multiply_add(power, S::set(-0.693359375F), x);
  rest = S::multiply_add(power, S::set(2.12194440e-4F), rest);
  const auto square = S::multiply(rest, rest);
  const auto first = S::multiply_add(S::set(1.6666665459e-1F), rest, S::set(5.0000001201e-1F));
  const auto second = S::multiply_add(S::set(8.3334519073e-3F), rest, S::set(4.1665795894e-2F));
  const auto third = S::multiply_add(S::set(1.9875691500e-4F), rest, S::set(1.3981999507e-3F));
  auto result = S::multiply_add(third, square, second);
  result = S::multiply_add(result, square, first);
  result = S::multiply_add(result, square, S::add(rest, S::set(1)));
  return S::times_power_of_two(result, power);
}

// e^x with a relative error below 2e-7, and 0 where it is below 1.3e-38; for x <= 88, and NaN.
template <typename S>
typename S::Vector exp(typename S::Vector x) {
  const auto lowest = S::set(-87);
  const auto power = bounded_exp<S>(S::max(x, lowest));  // the second where one is NaN
  return S::select_less(x, lowest, S::set(0), S::add(power, S::subtract(x, x)));
}

// tanh(x) with a relative error below 3e-7: Cephes' polynomial around 0, else by e^2x.
template <typename S>
typename S::Vector tanh(typename S::Vector x) {
  const auto zero = S::set(0);
  const auto one = S::set(1);
  const auto negative = S::subtract(zero, x);
  // From 9.02 on the nearest float is 1.
  const auto size = S::min(S::set(10), S::max(negative, x));  // the second where one is NaN
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
  return S::select_less(S::set(0.625F), size, signed_far, near);  // near where it is NaN
}

// 1 / (1 + e^-x) with a relative error below 4e-7; below -87 what it is there.
template <typename S>
typename S::Vector sigmoid(typename S::Vector x) {
  const auto bounded = S::min(S::set(87), S::max(S::set(-87), x));  // the second where one is NaN
  const auto power = bounded_exp<S>(S::max(S::subtract(S::set(0), bounded), S::set(-87)));
  const auto one = S::add(S::set(1), S::subtract(bounded, bounded));  // or NaN
  return S::divide(one, S::add(S::set(1), power));
}

// x / (1 + e^-x) with a relative error below 4e-7; below -87, where it is above -2e-36, what it is
// there.
template <typename S>
typename S::Vector silu(typename S::Vector x) {
  const auto bounded = S::max(S::set(-87), x);  // the second where one is NaN
  const auto power = bounded_exp<S>(S::max(S::subtract(S::set(0), bounded), S::set(-87)));
  return S::divide(bounded, S::add(S::set(1), power));
}

}  // namespace polystate::vectors
