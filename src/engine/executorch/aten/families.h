#pragma once

#include <array>
#include <span>

#include "engine/executorch/operators/listed.h"

namespace polystate {

// Operators of PyTorch that ExecuTorch's libraries lack, under PyTorch's own names, those that it
// has and computes otherwise, under names of `polystate_aten`, and those that it computes equally,
// but more slowly, under names of `polystate_faster`; by families. Each has PyTorch's meaning, in
// the form that fills given results. They refuse arguments that are not row-major. What is in the
// results of one that failed is not defined: some find out as they compute.
std::span<const ListedOperator> activation_operators();
std::span<const ListedOperator> arithmetic_operators();
std::span<const ListedOperator> bessel_operators();
std::span<const ListedOperator> bit_operators();
std::span<const ListedOperator> cholesky_operators();
std::span<const ListedOperator> comparison_operators();
std::span<const ListedOperator> convolution_operators();
std::span<const ListedOperator> copy_operators();
std::span<const ListedOperator> distance_operators();
std::span<const ListedOperator> elementary_operators();
std::span<const ListedOperator> error_function_operators();
std::span<const ListedOperator> faster_operators();
std::span<const ListedOperator> gamma_operators();
std::span<const ListedOperator> histogram_operators();
std::span<const ListedOperator> ldl_operators();
std::span<const ListedOperator> least_squares_operators();
std::span<const ListedOperator> linear_solve_operators();
std::span<const ListedOperator> loss_operators();
std::span<const ListedOperator> lu_operators();
std::span<const ListedOperator> matrix_exponential_operators();
std::span<const ListedOperator> padding_operators();
std::span<const ListedOperator> polynomial_operators();
std::span<const ListedOperator> pooling_operators();
std::span<const ListedOperator> power_operators();
std::span<const ListedOperator> product_operators();
std::span<const ListedOperator> qr_operators();
std::span<const ListedOperator> remainder_operators();
std::span<const ListedOperator> row_operators();
std::span<const ListedOperator> sampling_operators();
std::span<const ListedOperator> scan_operators();
std::span<const ListedOperator> scatter_operators();
std::span<const ListedOperator> searching_operators();
std::span<const ListedOperator> segment_operators();
std::span<const ListedOperator> softmax_operators();
std::span<const ListedOperator> sorting_operators();
std::span<const ListedOperator> spectral_operators();
std::span<const ListedOperator> sum_operators();
std::span<const ListedOperator> triangle_operators();
std::span<const ListedOperator> trigonometric_operators();
std::span<const ListedOperator> unique_operators();
std::span<const ListedOperator> upsampling_operators();
std::span<const ListedOperator> variance_operators();
std::span<const ListedOperator> window_operators();

inline constexpr std::array kAtenFamilies = {&activation_operators,
                                             &arithmetic_operators,
                                             &bessel_operators,
                                             &bit_operators,
                                             &cholesky_operators,
                                             &comparison_operators,
                                             &convolution_operators,
                                             &copy_operators,
                                             &distance_operators,
                                             &elementary_operators,
                                             &error_function_operators,
                                             &faster_operators,
                                             &gamma_operators,
                                             &histogram_operators,
                                             &ldl_operators,
                                             &least_squares_operators,
                                             &linear_solve_operators,
                                             &loss_operators,
                                             &lu_operators,
                                             &matrix_exponential_operators,
                                             &padding_operators,
                                             &polynomial_operators,
                                             &pooling_operators,
                                             &power_operators,
                                             &product_operators,
                                             &qr_operators,
                                             &remainder_operators,
                                             &row_operators,
                                             &sampling_operators,
                                             &scan_operators,
                                             &scatter_operators,
                                             &searching_operators,
                                             &segment_operators,
                                             &softmax_operators,
                                             &sorting_operators,
                                             &spectral_operators,
                                             &sum_operators,
                                             &triangle_operators,
                                             &trigonometric_operators,
                                             &unique_operators,
                                             &upsampling_operators,
                                             &variance_operators,
                                             &window_operators};

}  // namespace polystate
