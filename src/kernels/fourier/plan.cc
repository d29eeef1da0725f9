#include "kernels/fourier/plan.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/instruction_set.h"
#include "kernels/fourier/passes.h"

namespace polystate {
namespace {

// Plans that are kept for each type. A front-end for speech uses one or two.
constexpr std::size_t kKeptPlans = 16;

bool has_large_factor(std::int64_t size) {
  for (std::int64_t factor = 2; factor <= kLargestRadix; ++factor) {
    while (size % factor == 0) size /= factor;
  }
  return size > 1;
}

// The smallest product of twos, threes and fives that is at least this much.
std::int64_t convenient_size(std::int64_t least) {
  for (std::int64_t size = least;; ++size) {
    std::int64_t rest = size;
    for (const std::int64_t factor : {2, 3, 5}) {
      while (rest % factor == 0) rest /= factor;
    }
    if (rest == 1) return size;
  }
}

}  // namespace

template <typename Plan>
std::shared_ptr<const Plan> plan_for(std::int64_t size) {
  static std::mutex mutex;
  static std::list<std::shared_ptr<const Plan>> kept;  // the last one used first
  {
    const std::lock_guard lock(mutex);
    for (auto plan = kept.begin(); plan != kept.end(); ++plan) {
      if ((*plan)->size() != size) continue;
      kept.splice(kept.begin(), kept, plan);
      return kept.front();
    }
  }
  auto plan = std::make_shared<const Plan>(size);
  const std::lock_guard lock(mutex);
  kept.push_front(plan);
  if (kept.size() > kKeptPlans) kept.pop_back();
  return plan;
}

template <typename T>
FourierPlan<T>::FourierPlan(std::int64_t size) : size_(size) {
  if (!has_large_factor(size)) {
    passes_ = passes_for<T>(size);
    return;
  }
  const std::int64_t length = convenient_size(2 * size - 1);
  longer_ = std::make_shared<const FourierPlan<double>>(length);
  assert(length > 0);
  filter_real_.resize(static_cast<std::size_t>(length));
  filter_imag_.resize(static_cast<std::size_t>(length));
  std::int64_t square = 0;  // modulo 2 size, which it may exceed otherwise by far
  for (std::int64_t j = 0; j < size; ++j) {
    const UnitRoot<double> root = unit_root<double>(square, 2 * size);
    chirp_real_.push_back(root.real);
    chirp_imag_.push_back(root.imag);
    for (const std::int64_t place : {j, (length - j) % length}) {
      filter_real_[static_cast<std::size_t>(place)] = root.real / static_cast<double>(length);
      filter_imag_[static_cast<std::size_t>(place)] = -root.imag / static_cast<double>(length);
    }
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is a j below size
    square = (square + 2 * j + 1) % (2 * size);
  }
  std::vector<double> real(filter_real_.size());
  std::vector<double> imag(filter_imag_.size());
  longer_->transform({filter_real_.data(), filter_imag_.data()}, {real.data(), imag.data()}, 1,
                     best_instruction_set());
}

template <typename T>
void FourierPlan<T>::transform(Parts<T> values, Parts<T> scratch, std::int64_t lanes,
                               InstructionSet set) const {
  if (longer_ != nullptr) return convolve(values, lanes, set);
  run_passes<T>(std::span<const Pass<T>>(passes_), values, scratch, lanes, set);
}

template <typename T>
void FourierPlan<T>::convolve(Parts<T> values, std::int64_t lanes, InstructionSet set) const {
  const std::int64_t length = longer_->size();
  const auto count = static_cast<std::size_t>(length * lanes);
  std::vector<double> memory(4 * count);
  const Parts<double> work{memory.data(), memory.data() + count};
  const Parts<double> scratch{memory.data() + 2 * count, memory.data() + 3 * count};
  const auto multiply = [&](std::int64_t row, double real, double imag) {
    for (std::int64_t at = row * lanes; at < (row + 1) * lanes; ++at) {
      const double was = work.real[at];
      work.real[at] = was * real - work.imag[at] * imag;
      work.imag[at] = was * imag + work.imag[at] * real;
    }
  };
  for (std::int64_t at = 0; at < size_ * lanes; ++at) {
    work.real[at] = static_cast<double>(values.real[at]);
    work.imag[at] = static_cast<double>(values.imag[at]);
  }
  for (std::int64_t j = 0; j < size_; ++j) {
    multiply(j, chirp_real_[static_cast<std::size_t>(j)], chirp_imag_[static_cast<std::size_t>(j)]);
  }
  longer_->transform(work, scratch, lanes, set);
  for (std::int64_t j = 0; j < length; ++j) {
    const auto at = static_cast<std::size_t>(j);
    multiply(j, filter_real_[at], filter_imag_[at]);
  }
  longer_->transform(work.swapped(), scratch.swapped(), lanes, set);
  for (std::int64_t k = 0; k < size_; ++k) {
    multiply(k, chirp_real_[static_cast<std::size_t>(k)], chirp_imag_[static_cast<std::size_t>(k)]);
  }
  for (std::int64_t at = 0; at < size_ * lanes; ++at) {
    values.real[at] = static_cast<T>(work.real[at]);
    values.imag[at] = static_cast<T>(work.imag[at]);
  }
}

template <typename T>
RealFourierPlan<T>::RealFourierPlan(std::int64_t size)
    : size_(size), plan_(plan_for<FourierPlan<T>>(is_paired() ? size / 2 : size)) {
  for (std::int64_t k = 0; is_paired() && k < spectrum_size(); ++k) {
    const UnitRoot<T> root = unit_root<T>(k, size);
    real_.push_back(root.real);
    imag_.push_back(root.imag);
  }
}

template <typename T>
void RealFourierPlan<T>::to_spectrum(Parts<T> values, Parts<T> scratch, std::int64_t lanes,
                                     InstructionSet set) const {
  plan_->transform(values, scratch, lanes, set);
  if (!is_paired()) return;
  const std::int64_t half = size_ / 2;
  std::copy_n(values.real, lanes, values.real + half * lanes);
  std::copy_n(values.imag, lanes, values.imag + half * lanes);
  for (std::int64_t k = 0; k <= half - k; ++k) {
    const T c = real_[static_cast<std::size_t>(k)];
    const T s = imag_[static_cast<std::size_t>(k)];
    const Parts<T> a = values.from(k * lanes);
    const Parts<T> b = values.from((half - k) * lanes);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      // Those of even places, and those of odd ones times -i.
      const T even_real = (a.real[lane] + b.real[lane]) / 2;
      const T even_imag = (a.imag[lane] - b.imag[lane]) / 2;
      const T odd_real = (a.imag[lane] + b.imag[lane]) / 2;
      const T odd_imag = (b.real[lane] - a.real[lane]) / 2;
      const T turned_real = odd_real * c - odd_imag * s;
      const T turned_imag = odd_real * s + odd_imag * c;
      a.real[lane] = even_real + turned_real;
      a.imag[lane] = even_imag + turned_imag;
      b.real[lane] = even_real - turned_real;
      b.imag[lane] = turned_imag - even_imag;
    }
  }
}

template <typename T>
void RealFourierPlan<T>::from_spectrum(Parts<T> values, Parts<T> scratch, std::int64_t lanes,
                                       InstructionSet set) const {
  std::fill_n(values.imag, lanes, T(0));
  const std::int64_t half = size_ / 2;
  if (is_paired()) {
    std::fill_n(values.imag + half * lanes, lanes, T(0));
    for (std::int64_t k = 0; k <= half - k; ++k) {
      const T c = real_[static_cast<std::size_t>(k)];
      const T s = imag_[static_cast<std::size_t>(k)];
      const Parts<T> a = values.from(k * lanes);
      const Parts<T> b = values.from((half - k) * lanes);
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const T even_real = a.real[lane] + b.real[lane];
        const T even_imag = a.imag[lane] - b.imag[lane];
        const T turned_real = a.real[lane] - b.real[lane];
        const T turned_imag = a.imag[lane] + b.imag[lane];
        const T odd_real = turned_real * c + turned_imag * s;
        const T odd_imag = turned_imag * c - turned_real * s;
        a.real[lane] = even_real - odd_imag;
        a.imag[lane] = even_imag + odd_real;
        b.real[lane] = even_real + odd_imag;
        b.imag[lane] = odd_real - even_imag;
      }
    }
  } else {
    for (std::int64_t at = lanes; at < spectrum_size() * lanes; ++at) {
      const std::int64_t mirrored = (size_ - at / lanes) * lanes + at % lanes;
      values.real[mirrored] = values.real[at];
      values.imag[mirrored] = -values.imag[at];
    }
  }
  plan_->transform(values.swapped(), scratch.swapped(), lanes, set);
}

template class FourierPlan<float>;
template class FourierPlan<double>;
template class RealFourierPlan<float>;
template class RealFourierPlan<double>;
template std::shared_ptr<const FourierPlan<float>> plan_for(std::int64_t);
template std::shared_ptr<const FourierPlan<double>> plan_for(std::int64_t);
template std::shared_ptr<const RealFourierPlan<float>> plan_for(std::int64_t);
template std::shared_ptr<const RealFourierPlan<double>> plan_for(std::int64_t);

}  // namespace polystate
