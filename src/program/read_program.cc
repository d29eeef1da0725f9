#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "polystate/core/result.h"
#include "program/flat_cursor.h"
#include "program/program.h"

namespace polystate::program {
namespace {

using Bytes = std::span<const std::byte>;

// Positions of fields in ExecuTorch's schema/program.fbs.
namespace field {
namespace program {
constexpr std::size_t kPlans = 1;
constexpr std::size_t kConstantBuffer = 2;
constexpr std::size_t kDelegateData = 3;
constexpr std::size_t kSegments = 4;
constexpr std::size_t kConstantSegment = 5;
constexpr std::size_t kNamedData = 7;
}  // namespace program
namespace plan {
constexpr std::size_t kName = 0;
constexpr std::size_t kValues = 2;
constexpr std::size_t kInputs = 3;
constexpr std::size_t kOutputs = 4;
constexpr std::size_t kChains = 5;
constexpr std::size_t kOperators = 6;
constexpr std::size_t kDelegates = 7;
constexpr std::size_t kArenaBytes = 8;
}  // namespace plan
namespace tensor {
constexpr std::size_t kDtype = 0;
constexpr std::size_t kSizes = 2;
constexpr std::size_t kData = 5;
constexpr std::size_t kPlace = 6;
constexpr std::size_t kDynamism = 8;
constexpr std::size_t kExtra = 9;
}  // namespace tensor
constexpr std::size_t kChainInstructions = 2;
constexpr std::size_t kExtraName = 1;
}  // namespace field

// Types of the union KernelTypes, in the order of the schema.
enum class ValueType : std::uint8_t {
  kNone,
  kNull,
  kInt,
  kBool,
  kDouble,
  kTensor,
  kString,
  kIntList,
  kDoubleList,
  kBoolList,
  kTensorList,
  kOptionalTensorList,
};

// Those of InstructionArguments.
enum class InstructionType : std::uint8_t { kNone, kKernel, kDelegate, kMove, kJump, kFree };

struct ScalarType {
  std::string_view name;
  std::uint64_t bytes;
};

// By ExecuTorch's number. What is left out, programs do not have.
constexpr std::array kScalarTypes = {
    ScalarType{"uint8", 1},     ScalarType{"int8", 1},        ScalarType{"int16", 2},
    ScalarType{"int32", 4},     ScalarType{"int64", 8},       ScalarType{"float16", 2},
    ScalarType{"float32", 4},   ScalarType{"float64", 8},     ScalarType{"complex32", 4},
    ScalarType{"complex64", 8}, ScalarType{"complex128", 16}, ScalarType{"bool", 1},
    ScalarType{"qint8", 1},     ScalarType{"quint8", 1},      ScalarType{"qint32", 4},
    ScalarType{"bfloat16", 2},
};

// The file's own header, where it has one, behind FlatBuffers' root and identifier.
constexpr std::size_t kIdentifier = 4;
constexpr std::string_view kIdentifiers = "ET";
constexpr std::size_t kHeader = 8;
constexpr std::string_view kHeaderMagic = "eh00";
constexpr std::size_t kHeaderProgramSize = kHeader + 8;
constexpr std::size_t kHeaderSegments = kHeader + 16;
constexpr std::size_t kHeaderEnd = kHeader + 24;

bool has_text(Bytes file, std::size_t place, std::string_view text) {
  return file.size() >= place + text.size() &&
         std::memcmp(file.data() + place, text.data(), text.size()) == 0;
}

// The part of a file that is a program, and that which has its segments.
struct FileParts {
  Bytes program;
  Bytes segments;
};

Result<FileParts> split(Bytes file) {
  if (!has_text(file, kIdentifier, kIdentifiers))
    return Error{ErrorCode::kArtifact, "the file is no program of ExecuTorch"};
  if (!has_text(file, kHeader, kHeaderMagic)) return FileParts{file, {}};
  const auto number = [&](std::size_t place) {
    std::uint64_t value = 0;
    std::memcpy(&value, file.data() + place, sizeof(value));
    return value;
  };
  if (file.size() < kHeaderEnd) return Error{ErrorCode::kArtifact, "the program's header is cut"};
  const std::uint64_t size = number(kHeaderProgramSize);
  const std::uint64_t segments = number(kHeaderSegments);
  if (size > file.size() || segments > file.size()) {
    return Error{ErrorCode::kArtifact, "the program's header speaks of " +
                                           std::to_string(std::max(size, segments)) +
                                           " bytes; the file has " + std::to_string(file.size())};
  }
  return FileParts{file.first(size), segments == 0 ? Bytes() : file.subspan(segments)};
}

// More than programs have. Tables are shared, so that a small file could show a long text often.
constexpr std::size_t kMostDimensions = 16;
constexpr std::size_t kLongestName = 1024;

std::string name_in(const FlatCursor& at, std::size_t field) {
  std::string name = at.text(field);
  if (name.size() <= kLongestName) return name;
  at.fail("a name of " + std::to_string(name.size()) + " bytes");
  return {};
}

std::uint64_t bytes_of(const std::vector<std::int64_t>& sizes, std::uint64_t element) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes = element;
  for (const std::int64_t size : sizes) {
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(0, size));
    bytes = factor != 0 && bytes > kMost / factor ? kMost : bytes * factor;
  }
  return bytes;
}

Tensor read_tensor(const FlatCursor& at) {
  Tensor tensor;
  const auto type = static_cast<std::size_t>(at.number<std::uint8_t>(field::tensor::kDtype));
  const bool is_known = type < kScalarTypes.size();
  tensor.dtype = is_known ? kScalarTypes.at(type).name : "type " + std::to_string(type);
  const auto sizes = at.numbers<std::int32_t>(field::tensor::kSizes);
  if (sizes.size() > kMostDimensions) at.fail("a tensor of too many dimensions");
  tensor.sizes.assign(sizes.begin(), sizes.end());
  tensor.bytes = bytes_of(tensor.sizes, is_known ? kScalarTypes.at(type).bytes : 1);
  tensor.is_dynamic = at.number<std::uint8_t>(field::tensor::kDynamism) != 0;
  tensor.data = at.number<std::uint32_t>(field::tensor::kData);
  if (const auto place = at.table(field::tensor::kPlace)) {
    constexpr std::uint64_t kHigh = 32;
    tensor.place = Place{.arena = place->number<std::uint32_t>(0),
                         .offset = place->number<std::uint32_t>(1) |
                                   std::uint64_t{place->number<std::uint32_t>(2)} << kHigh};
  }
  if (const auto extra = at.table(field::tensor::kExtra))
    tensor.name = name_in(*extra, field::kExtraName);
  return tensor;
}

template <typename Index>
IndexList read_list(const FlatCursor& at, IndexList::Kind kind, std::size_t count) {
  IndexList list{.kind = kind};
  for (const Index index : at.numbers<Index>(0)) {
    const bool is_none = kind == IndexList::Kind::kOptionalTensors && index == -1;
    if (!is_none && (index < 0 || static_cast<std::uint64_t>(index) >= count)) {
      at.fail("a list has value " + std::to_string(index) + " of " + std::to_string(count));
      return list;
    }
    list.items.push_back(is_none ? std::nullopt : std::optional(static_cast<std::size_t>(index)));
  }
  return list;
}

BoolList read_bools(const FlatCursor& at) {
  BoolList list;
  for (const std::byte item : at.bytes(0)) list.items.push_back(item != std::byte{0});
  return list;
}

// `count`: of the method's values.
Value read_value(const FlatCursor& at, std::size_t count) {
  const auto table = at.union_table(0);
  if (!table) return {};
  switch (static_cast<ValueType>(at.union_type(0))) {
    case ValueType::kInt:
      return table->number<std::int64_t>(0);
    case ValueType::kBool:
      return table->number<std::uint8_t>(0) != 0;
    case ValueType::kDouble:
      return table->number<double>(0);
    case ValueType::kTensor:
      return read_tensor(*table);
    case ValueType::kString:
      return table->text(0);
    case ValueType::kIntList:
      return read_list<std::int64_t>(*table, IndexList::Kind::kIntegers, count);
    case ValueType::kDoubleList:
      return NumberList{table->numbers<double>(0)};
    case ValueType::kBoolList:
      return read_bools(*table);
    case ValueType::kTensorList:
      return read_list<std::int32_t>(*table, IndexList::Kind::kTensors, count);
    case ValueType::kOptionalTensorList:
      return read_list<std::int32_t>(*table, IndexList::Kind::kOptionalTensors, count);
    case ValueType::kNone:
    case ValueType::kNull:
      break;
  }
  return {};
}

// An index of `count` things; 0 after a fault.
std::size_t checked_index(const FlatCursor& at, std::int64_t index, std::size_t count,
                          const char* what) {
  if (index >= 0 && static_cast<std::uint64_t>(index) < count)
    return static_cast<std::size_t>(index);
  at.fail(std::string(what) + " " + std::to_string(index) + " of " + std::to_string(count));
  return 0;
}

std::vector<std::size_t> read_indices(const FlatCursor& at, std::size_t position,
                                      std::size_t count) {
  std::vector<std::size_t> indices;
  for (const std::int32_t index : at.numbers<std::int32_t>(position))
    indices.push_back(checked_index(at, index, count, "value"));
  return indices;
}

// `count`: of the chain's instructions.
Instruction read_instruction(const FlatCursor& at, const Method& method, std::size_t count) {
  const auto table = at.union_table(0);
  if (!table) {
    at.fail("an instruction says nothing");
    return {};
  }
  const std::size_t values = method.values.size();
  const auto index = [&](std::size_t position, std::size_t of, const char* what) {
    return checked_index(*table, table->number<std::int32_t>(position), of, what);
  };
  using enum Instruction::Kind;
  switch (static_cast<InstructionType>(at.union_type(0))) {
    case InstructionType::kKernel:
      return {kKernel, index(0, method.operators.size(), "operator"),
              read_indices(*table, 1, values)};
    case InstructionType::kDelegate:
      return {kDelegate, index(0, method.delegates.size(), "delegate"),
              read_indices(*table, 1, values)};
    case InstructionType::kMove:
      return {kMove, 0, {index(0, values, "value"), index(1, values, "value")}};
    case InstructionType::kJump:
      // It may go on behind the last instruction.
      return {kJump, index(1, count + 1, "instruction"), {index(0, values, "value")}};
    case InstructionType::kFree:
      return {kFree, 0, {index(0, values, "value")}};
    case InstructionType::kNone:
      break;
  }
  at.fail("an instruction is of an unknown kind");
  return {};
}

// What the instructions of a program may use, all together: lists are shared, so that a small file
// could have any number.
constexpr std::size_t kMostUses = std::size_t{1} << 22U;

// The bytes that a value has in a file at least.
constexpr std::size_t kLeastValueBytes = 16;

std::size_t uses_in(const Value& value) {
  const auto* const list = std::get_if<IndexList>(&value);
  return list == nullptr ? 1 : 1 + list->items.size();
}

class Reader {
 public:
  Reader(FlatFile& file, Bytes segments)
      : file_(file),
        root_(FlatCursor::root(file)),
        inlined_(root_.tables(field::program::kDelegateData)) {
    read_segments(segments);
  }

  Program program() {
    Program program;
    for (const FlatCursor& plan : root_.tables(field::program::kPlans)) {
      if (!file_.status()) break;
      program.methods.push_back(read_method(plan));
    }
    program.constants = read_constants();
    for (const FlatCursor& named : root_.tables(field::program::kNamedData)) {
      const Bytes data = segment(named, named.number<std::uint32_t>(1));
      program.named_data.push_back({.name = name_in(named, 0), .bytes = data});
    }
    return program;
  }

 private:
  void read_segments(Bytes segments) {
    for (const FlatCursor& at : root_.tables(field::program::kSegments)) {
      const auto offset = at.number<std::uint64_t>(0);
      const auto size = at.number<std::uint64_t>(1);
      if (offset > segments.size() || size > segments.size() - offset) {
        at.fail("a segment of " + std::to_string(size) + " bytes ends behind the file");
        return;
      }
      segments_.push_back(segments.subspan(offset, size));
    }
  }

  [[nodiscard]] Bytes segment(const FlatCursor& at, std::uint32_t index) const {
    if (index < segments_.size()) return segments_[index];
    at.fail("segment " + std::to_string(index) + " of " + std::to_string(segments_.size()));
    return {};
  }

  // Constants lie in a segment, in older files among the tables.
  [[nodiscard]] std::vector<Bytes> read_constants() const {
    std::vector<Bytes> constants;
    for (const FlatCursor& at : root_.tables(field::program::kConstantBuffer))
      constants.push_back(at.bytes(0));
    const auto at = root_.table(field::program::kConstantSegment);
    if (!at || !at->has(1)) return constants;
    const Bytes data = segment(*at, at->number<std::uint32_t>(0));
    for (const auto offset : at->numbers<std::uint64_t>(1)) {
      if (offset > data.size()) {
        at->fail("a constant begins behind its segment's " + std::to_string(data.size()) +
                 " bytes");
        break;
      }
      constants.push_back(data.subspan(offset));
    }
    return constants;
  }

  [[nodiscard]] Bytes delegate_data(const FlatCursor& at) const {
    const auto reference = at.table(1);
    if (!reference) return {};
    const auto index = reference->number<std::uint32_t>(1);
    const bool is_in_segment = reference->number<std::uint8_t>(0) != 0;
    if (is_in_segment) return segment(*reference, index);
    if (index < inlined_.size()) return inlined_[index].bytes(0);
    reference->fail("delegate " + std::to_string(index) + " of " + std::to_string(inlined_.size()));
    return {};
  }

  Method read_method(const FlatCursor& plan) {
    Method method{.name = name_in(plan, field::plan::kName)};
    for (const FlatCursor& at : plan.tables(field::plan::kOperators)) {
      const std::string overload = name_in(at, 1);
      method.operators.push_back(name_in(at, 0) + (overload.empty() ? "" : "." + overload));
    }
    for (const FlatCursor& at : plan.tables(field::plan::kDelegates))
      method.delegates.push_back({.backend = name_in(at, 0), .data = delegate_data(at)});
    const std::vector<FlatCursor> values = plan.tables(field::plan::kValues);
    if (values.size() > file_.bytes().size() / kLeastValueBytes) {
      plan.fail("values share their tables");
      return method;
    }
    method.values.reserve(values.size());
    for (const FlatCursor& at : values) method.values.push_back(read_value(at, values.size()));
    method.inputs = read_indices(plan, field::plan::kInputs, values.size());
    method.outputs = read_indices(plan, field::plan::kOutputs, values.size());
    for (const auto bytes : plan.numbers<std::int64_t>(field::plan::kArenaBytes))
      method.arena_bytes.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes)));
    const std::vector<FlatCursor> chains = plan.tables(field::plan::kChains);
    if (chains.size() > 1) plan.fail("a method has several chains of instructions");
    if (!chains.empty()) read_instructions(chains.front(), method);
    return method;
  }

  void read_instructions(const FlatCursor& chain, Method& method) {
    const std::vector<FlatCursor> instructions = chain.tables(field::kChainInstructions);
    if (method.values.empty() && !instructions.empty()) {
      chain.fail("instructions use values, and there are none");
      return;
    }
    for (const FlatCursor& at : instructions) {
      method.instructions.push_back(read_instruction(at, method, instructions.size()));
      for (const std::size_t argument : method.instructions.back().arguments)
        uses_ += uses_in(method.values[argument]);
      if (uses_ > kMostUses) {
        at.fail("instructions use more than " + std::to_string(kMostUses) + " values");
        return;
      }
    }
  }

  const FlatFile& file_;
  FlatCursor root_;
  std::vector<FlatCursor> inlined_;  // data of delegates that lies among the tables
  std::vector<Bytes> segments_;
  std::size_t uses_ = 0;
};

}  // namespace

Result<Program> read_program(std::span<const std::byte> file) {
  const Result<FileParts> parts = split(file);
  if (!parts) return parts.error();
  FlatFile tables(parts->program);
  Program program = Reader(tables, parts->segments).program();
  if (!tables.status()) return tables.status().error();
  return program;
}

}  // namespace polystate::program
