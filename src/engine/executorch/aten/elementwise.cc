#include "engine/executorch/aten/elementwise.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/parallel.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

// Elements that are converted at a time, which the processor's nearest cache holds.
constexpr std::int64_t kChunk = 512;
// From so many results on, another thread saves more time than it costs to wake.
constexpr std::int64_t kResultsWorthAThread = 16 * kChunk;

// A tensor, or a number that goes with every element.
struct Operand {
  TensorArgument tensor;
  double number = 0.0;
  std::optional<std::int64_t> integer;  // the number, where it is one
  bool is_number = false;
};

Result<std::vector<std::int64_t>> broadcast_shape(const std::vector<Operand>& operands) {
  std::vector<std::int64_t> shape;  // its last dimension first
  for (const Operand& operand : operands) {
    const TensorArgument& tensor = operand.tensor;
    if (operand.is_number) continue;
    for (int i = 0; i < tensor.rank(); ++i) {
      const std::int64_t size = tensor.size(tensor.rank() - 1 - i);
      const auto place = static_cast<std::size_t>(i);
      if (place == shape.size()) {
        shape.push_back(size);
      } else if (shape[place] == 1) {
        shape[place] = size;
      } else if (size != 1 && size != shape[place]) {
        return Error{ErrorCode::kEngine, "an operand of shape " + to_string(tensor.shape()) +
                                             " does not go with the others"};
      }
    }
  }
  std::ranges::reverse(shape);
  return shape;
}

// One dimension of a result, and how far the operand's elements for it lie apart.
struct Dimension {
  std::int64_t size;
  std::int64_t stride;  // 0 where the operand is broadcast
};

// Reads an operand as if it had the result's shape and type.
template <typename Number>
class OperandReader {
 public:
  OperandReader(const Operand& operand, const TensorArgument& out)
      : operand_(operand),
        is_whole_(!operand.is_number && operand.tensor.element_count() == out.element_count()) {
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

  // Whether its elements are of another type than `dtype`.
  [[nodiscard]] bool differs_from(DType dtype) const {
    return operand_.is_number || operand_.tensor.dtype() != dtype;
  }

  // Elements from `first` on: where they lie, or converted in `buffer`, which has room for them.
  const Number* read(std::int64_t first, std::int64_t count, Number* buffer) const {
    if (operand_.is_number) {
      std::fill_n(buffer, count, number_of());
      return buffer;
    }
    return with_element_type(operand_.tensor.dtype(), [&]<typename From>() -> const Number* {
      const From* from = elements<const From>(operand_.tensor).data();
      if (!is_whole_) {
        convert_broadcast(from, first, count, buffer);
        return buffer;
      }
      if constexpr (std::is_same_v<From, Number>) {
        return from + first;
      } else {
        convert(from + first, 1, count, buffer);
        return buffer;
      }
    });
  }

 private:
  [[nodiscard]] Number number_of() const {
    return operand_.integer ? static_cast<Number>(*operand_.integer)
                            : static_cast<Number>(operand_.number);
  }

  template <typename From>
  static void convert(const From* from, std::int64_t stride, std::int64_t count, Number* to) {
    for (std::int64_t i = 0; i < count; ++i) {
      const From value = from[i * stride];
      to[i] = static_cast<Number>(value);  // NOLINT(bugprone-signed-char-misuse): a number
    }
  }

  // Goes through the last dimension at once.
  template <typename From>
  void convert_broadcast(const From* from, std::int64_t first, std::int64_t count,
                         Number* to) const {
    std::array<std::int64_t, TensorArgument::kMaxRank> index{};
    std::int64_t offset = 0;
    for (std::size_t i = dimensions_.size(); i-- > 0; first /= dimensions_[i].size) {
      index[i] = first % dimensions_[i].size;
      offset += index[i] * dimensions_[i].stride;
    }
    const std::size_t last = dimensions_.size() - 1;
    while (count > 0) {
      const std::int64_t run = std::min(count, dimensions_[last].size - index[last]);
      convert(from + offset, dimensions_[last].stride, run, to);
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
  }

  const Operand& operand_;
  bool is_whole_;                      // has the result's elements in their order
  std::vector<Dimension> dimensions_;  // of more than one element, where it is broadcast
};

// Calls `loop` for the elements of a range, a chunk at a time.
template <typename Number>
class RangeOfElements {
 public:
  RangeOfElements(const std::vector<OperandReader<Number>>& readers, Loop<Number> loop, DType out)
      : readers_(readers),
        loop_(loop),
        out_(out),
        buffers_(static_cast<std::size_t>(kChunk) * (readers.size() + 1)),
        pointers_(readers.size()) {
    Number* buffer = buffers_.data();
    for (const OperandReader<Number>& reader : readers) {
      if (reader.is_number()) reader.read(0, kChunk, buffer);
      buffer += kChunk;
    }
  }

  template <typename T>
  void compute(std::int64_t first, std::int64_t last, T* out) {
    for (; first < last; first += kChunk) {
      const std::int64_t count = std::min(kChunk, last - first);
      Number* buffer = buffers_.data();
      for (std::size_t i = 0; i < readers_.size(); ++i, buffer += kChunk) {
        pointers_[i] = operand<T>(readers_[i], first, count, buffer);
      }
      if constexpr (std::is_same_v<T, Number>) {
        loop_(pointers_.data(), out + first, count);
      } else {
        loop_(pointers_.data(), buffer, count);
        for (std::int64_t i = 0; i < count; ++i) out[first + i] = static_cast<T>(buffer[i]);
      }
    }
  }

 private:
  // Numbers of another type than T are what T makes of them.
  template <typename T>
  const Number* operand(const OperandReader<Number>& reader, std::int64_t first, std::int64_t count,
                        Number* buffer) const {
    const Number* const read = reader.is_number() ? buffer : reader.read(first, count, buffer);
    if constexpr (!std::is_same_v<T, Number>) {
      if (reader.differs_from(out_)) {
        for (std::int64_t i = 0; i < count; ++i) {
          const auto value = static_cast<T>(read[i]);
          buffer[i] = static_cast<Number>(value);  // NOLINT(bugprone-signed-char-misuse): a number
        }
        return buffer;
      }
    }
    return read;
  }

  const std::vector<OperandReader<Number>>& readers_;
  Loop<Number> loop_;
  DType out_;
  std::vector<Number> buffers_;
  std::vector<const Number*> pointers_;
};

template <typename Number>
void fill(const std::vector<Operand>& operands, const TensorArgument& out, Loop<Number> loop) {
  std::vector<OperandReader<Number>> readers;
  readers.reserve(operands.size());
  for (const Operand& operand : operands) readers.emplace_back(operand, out);
  with_element_type(out.dtype(), [&]<typename T>() {
    // An operator computes floats from floats alone, and integers from integers.
    if constexpr (kIsFloat<T> == std::is_floating_point_v<Number>) {
      T* results = elements<T>(out).data();
      parallel_for(
          out.element_count(), kResultsWorthAThread, [&](std::int64_t first, std::int64_t last) {
            RangeOfElements<Number>(readers, loop, out.dtype()).compute(first, last, results);
          });
    }
  });
}

Result<std::vector<Operand>> read_operands(ProgramArguments& arguments,
                                           const OperatorSchema& schema) {
  std::vector<Operand> operands;
  for (std::size_t i = 0; i + 1 < schema.argument_count(); ++i) {
    const bool is_tensor = schema.type_of(i) == "Tensor";
    Operand& operand = operands.emplace_back();
    operand.is_number = !is_tensor;
    if (is_tensor) {
      operand.tensor = arguments.tensor(i);
    } else {
      operand.number = arguments.scalar(i);
      operand.integer = arguments.whole_number(i);
    }
    if (!arguments.status()) return arguments.status().error();
    if (!is_tensor) continue;
    if (const Status row_major = require_row_major(operand.tensor, "an operand"); !row_major) {
      return row_major.error();
    }
  }
  return operands;
}

}  // namespace

Status compute_elements(ProgramArguments& arguments, const OperatorSchema& schema,
                        const Loops& loops) {
  const Result<std::vector<Operand>> operands = read_operands(arguments, schema);
  if (!operands) return operands.error();
  const Result<std::vector<std::int64_t>> shape = broadcast_shape(*operands);
  if (!shape) return shape.error();
  const std::size_t last = schema.argument_count() - 1;
  const DType dtype = arguments.tensor(last).dtype();
  if (!arguments.status()) return arguments.status();
  const bool has_floats = std::ranges::any_of(*operands, [](const Operand& operand) {
    return operand.is_number ? !operand.integer : is_float(operand.tensor.dtype());
  });
  const bool is_possible =
      is_float(dtype) ? loops.of_floats != nullptr : loops.of_integers != nullptr && !has_floats;
  if (!is_possible) {
    return Error{ErrorCode::kEngine, "there are no results of type " + std::string(name_of(dtype))};
  }
  const Result<TensorArgument> out = arguments.result_at(last, *shape);
  if (!out) return out.error();
  if (!is_float(dtype)) {
    fill(*operands, *out, loops.of_integers);
  } else if (dtype == DType::kFloat64) {
    fill(*operands, *out, loops.of_doubles);
  } else {
    fill(*operands, *out, loops.of_floats);
  }
  return {};
}

}  // namespace polystate
