#include "engine/executorch/aten/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/executorch/aten/conversions.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/operands.h"
#include "engine/executorch/aten/read_as.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/parallel.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// Elements that are converted at a time, which the processor's nearest cache holds.
constexpr std::int64_t kChunk = 512;
// The most elements that are converted, or for which a number is written, at a time.
constexpr std::int64_t kLargeChunk = 4 * kChunk;
// A number that goes with a whole chunk is written so many times, and the loop is called for as
// many elements at a time.
constexpr std::int64_t kRepeats = kChunk / 2;
// From so many results on, another thread saves more time than it costs to wake.
constexpr std::int64_t kResultsWorthAThread = 16 * kChunk;

// One dimension of a result, and how far the operand's elements for it lie apart.
struct Dimension {
  std::int64_t size;
  std::int64_t stride;  // 0 where the operand is broadcast
};

// The loops of an operator for one type of numbers; `beside_numbers` may be null.
template <typename Number, typename Output>
struct LoopsOf {
  Loop<Number, Output> of_tensors;
  Loop<Number, Output> beside_numbers = nullptr;
};
template <typename Number, typename Output>
LoopsOf(Loop<Number, Output>) -> LoopsOf<Number, Output>;
template <typename Number, typename Output>
LoopsOf(Loop<Number, Output>, Loop<Number, Output>) -> LoopsOf<Number, Output>;

// Elements of an operand.
template <typename Number>
struct Read {
  const Number* values;
  bool is_repeated = false;  // kRepeats times the same number, which goes with all elements
};

// Reads an operand as if it had the result's shape and type.
template <typename Number>
class OperandReader {
 public:
  // `is_kept`: what has other types than the results, and one element, keeps its digits.
  OperandReader(const Operand& operand, const TensorArgument& out, bool is_kept)
      : operand_(operand),
        elements_(operand.is_number ? ReadAs<Number>() : ReadAs<Number>(operand.tensor)),
        is_whole_(!operand.is_number && operand.tensor.element_count() == out.element_count()),
        is_kept_(is_kept) {
    if (operand.is_number || is_whole_) return;
    std::int64_t stride = 1;
    for (int i = 0; i < out.rank(); ++i) {
      const std::int64_t size = operand.tensor.size(operand.tensor.rank() - 1 - i);
      const std::int64_t wanted = out.size(out.rank() - 1 - i);
      const bool is_repeated = size <= 1;  // or it has no such dimension
      if (wanted != 1) dimensions_.push_back({wanted, is_repeated ? 0 : stride});
      if (!is_repeated) stride *= size;
    }
    std::ranges::reverse(dimensions_);
  }

  [[nodiscard]] bool is_number() const { return operand_.is_number; }

  // Whether its elements lie as loops of the type `common` take them; a number is written once.
  [[nodiscard]] bool is_direct(DType common) const {
    return operand_.is_number || (is_whole_ && !elements_.converts() && !is_rounded_to(common));
  }

  // Whether its elements are rounded to another type, `dtype`.
  [[nodiscard]] bool is_rounded_to(DType dtype) const {
    return !is_kept_ && (operand_.is_number || operand_.tensor.dtype() != dtype);
  }

  // Elements from `first` on: where they lie, or converted in `buffer`, which has room for them.
  Read<Number> read(std::int64_t first, std::int64_t count, Number* buffer) const {
    if (operand_.is_number) {
      std::fill_n(buffer, count, number_of());
      return {buffer};
    }
    if (is_whole_) return {elements_.at(first, count, buffer)};
    return read_broadcast(first, count, buffer);
  }

 private:
  [[nodiscard]] Number number_of() const {
    if (operand_.integer) return static_cast<Number>(*operand_.integer);
    if constexpr (std::is_integral_v<Number>) {
      return static_cast<Number>(static_cast<std::int64_t>(operand_.number));  // the low bits
    } else {
      return static_cast<Number>(operand_.number);
    }
  }

  // Writes numbers from an element on; `stride` is 1, or 0 where it goes with all.
  void write(std::int64_t place, std::int64_t stride, std::int64_t count, Number* to) const {
    if (stride == 0) {
      Number number;
      std::fill_n(to, count, *elements_.at(place, 1, &number));
    } else {
      elements_.read(place, count, to);
    }
  }

  // Goes through the last dimension at once.
  Read<Number> read_broadcast(std::int64_t first, std::int64_t count, Number* buffer) const {
    std::array<std::int64_t, TensorArgument::kMaxRank> index{};
    std::int64_t offset = 0;
    for (std::size_t i = dimensions_.size(); i-- > 0; first /= dimensions_[i].size) {
      index[i] = first % dimensions_[i].size;
      offset += index[i] * dimensions_[i].stride;
    }
    const std::size_t last = dimensions_.size() - 1;
    const bool is_one_run = dimensions_[last].size - index[last] >= count;
    if (is_one_run && dimensions_[last].stride == 1) return {elements_.at(offset, count, buffer)};
    if (is_one_run && count > kRepeats) {
      write(offset, 0, kRepeats, buffer);
      return {buffer, true};
    }
    for (Number* to = buffer; count > 0;) {
      const std::int64_t run = std::min(count, dimensions_[last].size - index[last]);
      write(offset, dimensions_[last].stride, run, to);
      to += run;
      count -= run;
      index[last] += run;
      offset += run * dimensions_[last].stride;
      for (std::size_t i = last; index[i] == dimensions_[i].size && i > 0; --i) {
        offset += dimensions_[i - 1].stride - index[i] * dimensions_[i].stride;
        index[i] = 0;
        ++index[i - 1];
      }
    }
    return {buffer};
  }

  const Operand& operand_;
  ReadAs<Number> elements_;
  bool is_whole_;  // has the result's elements in their order
  bool is_kept_;
  std::vector<Dimension> dimensions_;  // of more than one element, where it is broadcast
};

// Elements are computed in chunks. Each row is cut into chunks of `size`; its last may be smaller.
struct Chunks {
  std::int64_t row;
  std::int64_t size;

  // Of those from `first` to `last` - 1.
  [[nodiscard]] std::int64_t count(std::int64_t first, std::int64_t last) const {
    const std::int64_t place = first % row;
    return std::min({size - place % size, row - place, last - first});
  }
};

// Rows of the result where these are long enough, so that an operand that goes with each row, or
// with each element of a row, need not be copied.
Chunks chunks_of(const TensorArgument& out) {
  const std::int64_t row = out.rank() == 0 ? 1 : out.size(out.rank() - 1);
  if (row < kChunk / 4) return {kChunk, kChunk};
  const std::int64_t parts = (row + kLargeChunk - 1) / kLargeChunk;
  return {row, (row + parts - 1) / parts};
}

// The conversion to the common type, which is bool where the loop's is std::uint8_t.
template <typename Number>
ConversionTo<Number> conversion_to_common(DType common) {
  if constexpr (std::is_same_v<Number, std::uint8_t>) {
    return nullptr;
  } else {
    return conversion_to<Number>(common);
  }
}

// Calls a loop for the elements of a range: for all at once, or a chunk at a time where operands or
// results are converted. Operands are converted to the type `common` first.
template <typename Number, typename Output>
class RangeOfElements {
 public:
  RangeOfElements(const std::vector<OperandReader<Number>>& readers,
                  const LoopsOf<Number, Output>& loops, DType common, const TensorArgument& out,
                  std::int64_t count)
      : readers_(readers),
        loops_(loops),
        common_(common),
        to_common_(conversion_to_common<Number>(common)),
        is_direct_(!converts_results() &&
                   std::ranges::all_of(readers,
                                       [common](const OperandReader<Number>& reader) {
                                         return reader.is_direct(common);
                                       })),
        chunks_(chunks_of(out)),
        room_(std::min(is_direct_ ? kLargeChunk : chunks_.size, count)),
        buffers_(static_cast<std::size_t>(room_) * buffer_count()),
        pointers_(readers.size()),
        steps_(readers.size()) {
    const bool is_beside_numbers =
        loops.beside_numbers != nullptr && !readers.front().is_number() &&
        std::all_of(readers.begin() + 1, readers.end(),
                    [](const OperandReader<Number>& reader) { return reader.is_number(); });
    const std::int64_t copies = is_beside_numbers ? 1 : room_;
    Number* buffer = buffers_.data();
    for (std::size_t i = 0; i < readers.size(); ++i) {
      if (!readers[i].is_number()) continue;
      readers[i].read(0, copies, buffer);
      if (readers[i].is_rounded_to(common)) round(copies, buffer);
      pointers_[i] = buffer;
      buffer += room_;
    }
    others_ = buffer;
  }

  void compute(std::int64_t first, std::int64_t last, const TensorArgument& out) {
    const std::size_t size = size_of(out.dtype());
    for (std::int64_t count = 0; first < last; first += count) {
      count = is_direct_ ? last - first : chunks_.count(first, last);
      read_operands(first, count);
      std::byte* const to = out.bytes() + static_cast<std::size_t>(first) * size;
      if constexpr (std::is_same_v<Output, Number>) {
        if (converts_results()) {
          compute_chunk(count, results_);
          to_common_(results_, count, to);
          continue;
        }
      }
      compute_chunk(count, reinterpret_cast<Output*>(to));
    }
  }

 private:
  // Results are of the common type, or bools.
  [[nodiscard]] bool converts_results() const {
    return std::is_same_v<Output, Number> && to_common_ != nullptr;
  }

  [[nodiscard]] std::size_t buffer_count() const {
    if (!is_direct_) return readers_.size() + 1;  // and one for results
    return static_cast<std::size_t>(
        std::ranges::count_if(readers_, &OperandReader<Number>::is_number));
  }

  // Points to the elements of a chunk, or of all where nothing is converted.
  void read_operands(std::int64_t first, std::int64_t count) {
    Number* buffer = others_;
    at_once_ = count;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      if (readers_[i].is_number()) {
        at_once_ = std::min(at_once_, room_);
        continue;
      }
      const Read<Number> read = operand(readers_[i], first, count, buffer);
      pointers_[i] = read.values;
      steps_[i] = read.is_repeated ? 0 : 1;
      if (read.is_repeated) at_once_ = kRepeats;
      if (!is_direct_) buffer += room_;
    }
    results_ = buffer;
  }

  // Whether each operand but the first is one number for all elements of the chunk.
  [[nodiscard]] bool is_beside_numbers() const {
    return steps_.front() == 1 && std::all_of(steps_.begin() + 1, steps_.end(),
                                              [](std::int64_t step) { return step == 0; });
  }

  // Operands that are repeated stay where they are.
  void compute_chunk(std::int64_t count, Output* out) {
    if (loops_.beside_numbers != nullptr && is_beside_numbers()) {
      loops_.beside_numbers(pointers_.data(), out, count);
      return;
    }
    for (std::int64_t at = 0; at < count; at += at_once_) {
      const std::int64_t some = std::min(at_once_, count - at);
      loops_.of_tensors(pointers_.data(), out + at, some);
      for (std::size_t i = 0; i < steps_.size(); ++i) pointers_[i] += steps_[i] * some;
    }
  }

  Read<Number> operand(const OperandReader<Number>& reader, std::int64_t first, std::int64_t count,
                       Number* buffer) const {
    const Read<Number> read = reader.read(first, count, buffer);
    if (!reader.is_rounded_to(common_)) return read;
    const std::int64_t written = read.is_repeated ? kRepeats : count;
    if (read.values != buffer) std::copy_n(read.values, written, buffer);
    round(written, buffer);
    return {buffer, read.is_repeated};
  }

  // Numbers of another type than the common one are what that makes of them.
  void round(std::int64_t count, Number* numbers) const {
    if (to_common_ == nullptr) return;
    alignas(Number) std::array<std::byte, kChunk * sizeof(Number)> elements;
    const ConversionFrom<Number> from_common = conversion_from<Number>(common_);
    for (std::int64_t at = 0; at < count; at += kChunk) {
      const std::int64_t some = std::min(kChunk, count - at);
      to_common_(numbers + at, some, elements.data());
      from_common(elements.data(), some, numbers + at);
    }
  }

  const std::vector<OperandReader<Number>>& readers_;
  LoopsOf<Number, Output> loops_;
  DType common_;
  ConversionTo<Number> to_common_;  // none where the loop's numbers are of that type
  bool is_direct_;                  // nothing but numbers is written into buffers
  Chunks chunks_;
  std::int64_t room_;         // in each buffer
  std::int64_t at_once_ = 0;  // elements of a call of the loop
  std::vector<Number> buffers_;
  std::vector<const Number*> pointers_;
  std::vector<std::int64_t> steps_;  // 0 where an operand is repeated, as numbers are
  Number* others_ = nullptr;         // the buffers behind those of numbers
  Number* results_ = nullptr;        // the one behind those of all operands
};

// Whether an operand keeps its digits, whatever the type of the results.
bool keeps_digits(ScalarRule rule, const Operand& operand, std::size_t place) {
  if (rule == ScalarRule::kNumbersKept) return operand.is_number;
  if (rule != ScalarRule::kSecondKept || place != 1) return false;
  return operand.is_number || operand.tensor.element_count() == 1;
}

// The operands are converted to the type `common`.
template <typename Number, typename Output>
void fill(const std::vector<Operand>& operands, DType common, const TensorArgument& out,
          const LoopsOf<Number, Output>& loops, ScalarRule rule = ScalarRule::kConverted) {
  std::vector<OperandReader<Number>> readers;
  readers.reserve(operands.size());
  for (const Operand& operand : operands) {
    readers.emplace_back(operand, out, keeps_digits(rule, operand, readers.size()));
  }
  const auto compute = [&](std::int64_t first, std::int64_t last) {
    RangeOfElements<Number, Output>(readers, loops, common, out, last - first)
        .compute(first, last, out);
  };
  parallel_for(out.element_count(), kResultsWorthAThread, compute);
}

}  // namespace

Status internal::compute_elements(ProgramArguments& arguments, const OperandKinds& kinds,
                                  const Loops& loops) {
  Result<std::vector<Operand>> operands = read_operands(arguments, kinds);
  if (!operands) return operands.error();
  if (loops.operand_count > 0) operands->resize(loops.operand_count);
  const Result<std::vector<std::int64_t>> shape = broadcast_shape(*operands);
  if (!shape) return shape.error();
  const DType dtype = arguments.tensor(kinds.count()).dtype();
  if (!arguments.status()) return arguments.status();
  const bool has_floats = std::ranges::any_of(*operands, [&](const Operand& operand) {
    if (!operand.is_number) return is_float(operand.tensor.dtype());
    const bool is_truncated =
        loops.rule == ScalarRule::kTruncated && std::abs(operand.number) < 0x1p63;
    return !operand.integer && !is_truncated;
  });
  const bool is_possible =
      is_float(dtype) ? loops.of_floats != nullptr : loops.of_integers != nullptr && !has_floats;
  if (!is_possible) {
    return Error{ErrorCode::kEngine, "there are no results of type " + std::string(name_of(dtype))};
  }
  const Result<TensorArgument> out = arguments.result_at(kinds.count(), *shape);
  if (!out) return out.error();
  // Of a number that is converted to bool, all bits count.
  const bool is_small = size_of(dtype) <= sizeof(std::int32_t) && dtype != DType::kBool;
  if (!is_float(dtype) && is_small && loops.of_small_integers != nullptr) {
    fill(*operands, dtype, *out, LoopsOf{loops.of_small_integers});
  } else if (!is_float(dtype)) {
    fill(*operands, dtype, *out, LoopsOf{loops.of_integers});
  } else if (dtype == DType::kFloat64) {
    fill(*operands, dtype, *out, LoopsOf{loops.of_doubles});
  } else {
    fill(*operands, dtype, *out, LoopsOf{loops.of_floats, loops.of_floats_beside_numbers},
         loops.rule);
  }
  return {};
}

Status internal::compute_predicates(ProgramArguments& arguments, const OperandKinds& kinds,
                                    const Predicates& predicates) {
  const Result<std::vector<Operand>> operands = read_operands(arguments, kinds);
  if (!operands) return operands.error();
  const Result<std::vector<std::int64_t>> shape = broadcast_shape(*operands);
  if (!shape) return shape.error();
  const Result<TensorArgument> out = arguments.result_at(kinds.count(), DType::kBool, *shape);
  if (!out) return out.error();
  const DType common = common_type(*operands);
  const auto compute = [&](auto predicate) -> Status {
    if (predicate == nullptr) {
      return Error{ErrorCode::kEngine,
                   "there are no operands of type " + std::string(name_of(common))};
    }
    fill(*operands, common, *out, LoopsOf{predicate});
    return {};
  };
  if (common == DType::kBool) return compute(predicates.of_bools);
  if (common == DType::kFloat64) return compute(predicates.of_doubles);
  return is_float(common) ? compute(predicates.of_floats) : compute(predicates.of_integers);
}

}  // namespace polystate
