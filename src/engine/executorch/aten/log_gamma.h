#pragma once

#include <math.h>  // lgamma_r is not among the names of std

namespace polystate {

// Of |gamma(x)|; unlike std::lgamma it writes nothing that threads share.
inline float log_gamma(float x) {
  int sign = 0;
  return lgammaf_r(x, &sign);
}

inline double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

}  // namespace polystate
