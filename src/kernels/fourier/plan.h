#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/instruction_set.h"
#include "kernels/fourier/passes.h"

namespace polystate {

// Plans of one kind and type, by their sizes, which are above 0. The last ones that were asked for
// are kept, for all threads.
template <typename Plan>
std::shared_ptr<const Plan> plan_for(std::int64_t size);

// What a transform of one size needs beside its values: a sequence of passes, or, of a size with a
// large prime factor, a convolution (Bluestein's algorithm). Immutable.
template <typename T>
class FourierPlan {
 public:
  explicit FourierPlan(std::int64_t size);

  [[nodiscard]] std::int64_t size() const { return size_; }

  // The sums of x[j] exp(-2 pi i j k / size) over j, for all k: of `lanes` sequences side by side,
  // values [size, lanes], which they replace. `scratch` has room for as many.
  void transform(Parts<T> values, Parts<T> scratch, std::int64_t lanes, InstructionSet set) const;

 private:
  void convolve(Parts<T> values, std::int64_t lanes, InstructionSet set) const;

  std::int64_t size_;
  std::vector<Pass<T>> passes_;
  // Of a convolution, in double: exp(-pi i j^2 / size), [size]; a plan for its length; and the
  // transform of the chirp's conjugate, [that length].
  std::shared_ptr<const FourierPlan<double>> longer_;
  std::vector<double> chirp_real_;
  std::vector<double> chirp_imag_;
  std::vector<double> filter_real_;
  std::vector<double> filter_imag_;
};

// What transforms between real numbers and the first half of their spectrum need: of an even size,
// half as long a transform, whose numbers are pairs of real ones. Immutable.
template <typename T>
class RealFourierPlan {
 public:
  explicit RealFourierPlan(std::int64_t size);

  // How many real numbers.
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool is_paired() const { return size_ % 2 == 0; }
  // The size of the transform of complex numbers.
  [[nodiscard]] std::int64_t complex_size() const { return plan_->size(); }
  [[nodiscard]] std::int64_t spectrum_size() const { return size_ / 2 + 1; }

  // values [spectrum_size, lanes] when paired, [size, lanes] otherwise, as `scratch`: holds, in its
  // first `complex_size` rows, the real numbers (paired: those of odd places are the imaginary
  // parts), which become the spectrum.
  void to_spectrum(Parts<T> values, Parts<T> scratch, std::int64_t lanes, InstructionSet set) const;
  // Back, without a scale. The imaginary parts of what must be real are not read.
  void from_spectrum(Parts<T> values, Parts<T> scratch, std::int64_t lanes,
                     InstructionSet set) const;

 private:
  std::int64_t size_;
  std::shared_ptr<const FourierPlan<T>> plan_;
  // exp(-2 pi i k / size), [size / 2 + 1], when paired
  std::vector<T> real_;
  std::vector<T> imag_;
};

}  // namespace polystate
