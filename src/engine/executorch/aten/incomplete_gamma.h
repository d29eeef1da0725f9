#pragma once

namespace polystate {

// The regularised incomplete gamma functions P(a, x) and Q(a, x), as SciPy computes them; NaN where
// an argument is negative.
float lower_gamma(float a, float x);
double lower_gamma(double a, double x);
float upper_gamma(float a, float x);
double upper_gamma(double a, double x);

}  // namespace polystate
