#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "polystate/core/result.h"

// What a program of ExecuTorch (.pte) says of itself, as plain data, read without ExecuTorch.
namespace polystate::program {

// Where the plan has a tensor: arenas count from 1.
struct Place {
  std::uint32_t arena = 0;
  std::uint64_t offset = 0;
};

// The arenas of polystate's programs.
inline constexpr std::uint32_t kActivations = 1;
inline constexpr std::uint32_t kState = 2;

struct Tensor {
  std::string name = {};                 // fully qualified, of states and some weights; often empty
  std::string dtype = {};                // "float32"
  std::vector<std::int64_t> sizes = {};  // the largest, where they are dynamic
  bool is_dynamic = false;
  std::optional<Place> place = {};
  std::uint32_t data = 0;   // the index of its constant or initial values; 0: none
  std::uint64_t bytes = 0;  // for the sizes
};

// Lists have the indices of values, except those of numbers and truth values.
struct IndexList {
  enum class Kind : std::uint8_t { kIntegers, kTensors, kOptionalTensors };
  Kind kind = Kind::kTensors;
  std::vector<std::optional<std::size_t>> items = {};  // an optional tensor may be none
};
struct NumberList {
  std::vector<double> items = {};
};
struct BoolList {
  std::vector<bool> items = {};
};

using Value = std::variant<std::monostate, std::int64_t, bool, double, std::string, Tensor,
                           IndexList, NumberList, BoolList>;

struct Instruction {
  enum class Kind : std::uint8_t { kKernel, kDelegate, kMove, kJump, kFree };
  Kind kind = Kind::kKernel;
  // Of a kernel, an index of the method's operators; of a delegate, of its delegates; of a jump,
  // the instruction where it goes on when its value is false.
  std::size_t target = 0;
  // Indices of values: of a kernel what its schema has, then what it returns; of a delegate its
  // inputs, then its outputs; of a move from where and to where; of the others one.
  std::vector<std::size_t> arguments = {};
};

struct Delegate {
  std::string backend;
  std::span<const std::byte> data = {};  // its program
};

struct Method {
  std::string name = {};
  std::vector<Value> values = {};
  std::vector<std::size_t> inputs = {};  // values
  std::vector<std::size_t> outputs = {};
  std::vector<std::string> operators = {};  // "aten::add.out"
  std::vector<Delegate> delegates = {};
  std::vector<Instruction> instructions = {};
  std::vector<std::uint64_t> arena_bytes = {};  // by arena; the first is of none
};

// Data that delegates have in the file under a name.
struct NamedData {
  std::string name;
  std::span<const std::byte> bytes;
};

struct Program {
  std::vector<Method> methods = {};
  // By Tensor::data, of tensors without a place: where their bytes begin. A tensor's data may be
  // shorter than what is left there.
  std::vector<std::span<const std::byte>> constants = {};
  std::vector<NamedData> named_data = {};
};

// Reads a program file. kArtifact, with the byte, if it is damaged or no program. It reads nothing
// outside of `file`, also where the bytes are hostile, and its time is bounded by their number.
// Spans of the program point into `file`.
Result<Program> read_program(std::span<const std::byte> file);

// The method of a name; kContract with the names that there are.
Result<std::size_t> find_method(const Program& program, std::string_view name);

// "float32 [2, 3]", "float32 up to [2, 3]" where the sizes are dynamic; "3", "true", "none".
std::string type_text(const Tensor& tensor);
std::string value_text(const Method& method, std::size_t value);

// The name of what an instruction does: "aten::add.out", "XnnpackBackend", "move".
std::string name_of(const Method& method, const Instruction& instruction);

}  // namespace polystate::program
