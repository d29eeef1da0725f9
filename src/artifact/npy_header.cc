#include "artifact/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "artifact/little_endian.h"
#include "core/text.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 64;
constexpr std::size_t kAlignment = 64;  // of the first element

// NumPy's names; uint16 stands for bfloat16.
constexpr std::array<std::pair<std::string_view, DType>, 12> kDescriptions = {{
    {"|b1", DType::kBool},
    {"|u1", DType::kUInt8},
    {"|i1", DType::kInt8},
    {"<i2", DType::kInt16},
    {"<i4", DType::kInt32},
    {"<i8", DType::kInt64},
    {"<f2", DType::kFloat16},
    {"<u2", DType::kBFloat16},
    {"<f4", DType::kFloat32},
    {"<f8", DType::kFloat64},
    {"<c8", DType::kComplex64},
    {"<c16", DType::kComplex128},
}};

Error no_npy(const std::string& what) { return {ErrorCode::kContract, "not a .npy file: " + what}; }

// Reads the header's text, a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape':
// (3, 4), }. Every function skips spaces first and returns nothing where the text goes on
// otherwise.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  std::optional<std::string> string() {
    if (!take("'")) return std::nullopt;
    const std::size_t end = text_.find_first_of("'\\");
    if (end == std::string_view::npos || text_[end] != '\'') return std::nullopt;
    std::string value(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return value;
  }

  std::optional<bool> boolean() {
    if (take("True")) return true;
    if (take("False")) return false;
    return std::nullopt;
  }

  // (), (3,) or (3, 4)
  std::optional<Shape> tuple() {
    if (!take("(")) return std::nullopt;
    Shape shape;
    while (!take(")")) {
      std::int64_t size = 0;
      const std::from_chars_result read =
          std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (read.ec != std::errc() || shape.size() == kMaxRank) return std::nullopt;
      text_.remove_prefix(static_cast<std::size_t>(read.ptr - text_.data()));
      shape.push_back(size);
      const bool comma = take(",");
      if (!comma && (shape.size() == 1 || !text_.starts_with(')'))) return std::nullopt;
      skip_spaces();
    }
    return shape;
  }

  // Whether only padding is left.
  bool at_end() {
    skip_spaces();
    return text_.empty() || text_ == "\n";
  }

 private:
  void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size())); }

  std::string_view text_;
};

struct Fields {
  std::string description;
  bool fortran_order;
  Shape shape;
};

// The same while they are read.
struct PartialFields {
  std::optional<std::string> description;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

// Reads the value after `key` into its field; false when the key is unknown, came before, or has
// another kind of value.
bool parse_field(std::string_view key, Literal& literal, PartialFields& fields) {
  if (key == "descr" && !fields.description) {
    fields.description = literal.string();
    return fields.description.has_value();
  }
  if (key == "fortran_order" && !fields.fortran_order) {
    fields.fortran_order = literal.boolean();
    return fields.fortran_order.has_value();
  }
  if (key == "shape" && !fields.shape) {
    fields.shape = literal.tuple();
    return fields.shape.has_value();
  }
  return false;
}

// Each key once, in any order, and no other.
std::optional<Fields> parse_fields(Literal literal) {
  PartialFields fields;
  if (!literal.take("{")) return std::nullopt;
  bool more = true;
  while (more && !literal.take("}")) {
    const std::optional<std::string> key = literal.string();
    if (!key || !literal.take(":") || !parse_field(*key, literal, fields)) return std::nullopt;
    more = literal.take(",");
    if (!more && !literal.take("}")) return std::nullopt;
  }
  if (!fields.description || !fields.fortran_order || !fields.shape || !literal.at_end()) {
    return std::nullopt;
  }
  return Fields{*std::move(fields.description), *fields.fortran_order, *std::move(fields.shape)};
}

// The header's text, and where it ends.
struct Located {
  std::string_view text;
  std::size_t end;
};

Result<Located> locate_text(std::span<const std::byte> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!all.starts_with(kMagic)) return no_npy("it does not begin as one");
  if (all.size() < kMagic.size() + 2) return no_npy("it ends inside its header");
  const int version = static_cast<unsigned char>(all[kMagic.size()]);
  if (version < 1 || version > 3) {
    return Error{ErrorCode::kContract,
                 ".npy version " + std::to_string(version) + " is not one of 1, 2 and 3"};
  }
  const std::size_t start = kMagic.size() + (version == 1 ? 4 : 6);
  if (all.size() < start) return no_npy("it ends inside its header");
  const std::size_t length =
      version == 1 ? load_u16(bytes, kMagic.size() + 2) : load_u32(bytes, kMagic.size() + 2);
  if (length > all.size() - start) return no_npy("it ends inside its header");
  return Located{all.substr(start, length), start + length};
}

Result<DType> parse_description(const std::string& description) {
  for (const auto& [name, dtype] : kDescriptions) {
    if (name == description) return dtype;
  }
  if (description.starts_with('>')) {
    return Error{ErrorCode::kContract, "the array is big-endian (" + in_quotes(description) + ")"};
  }
  return Error{ErrorCode::kContract,
               "the array's dtype " + in_quotes(description) + " has no counterpart here"};
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes) {
  const Result<Located> located = locate_text(bytes);
  if (!located) return located.error();
  std::optional<Fields> fields = parse_fields(Literal(located->text));
  if (!fields) {
    return no_npy("its header is " + in_quotes(located->text) +
                  ", not a dictionary of a plain dtype, an order and a shape");
  }
  const Result<DType> dtype = parse_description(fields->description);
  if (!dtype) return dtype.error();
  if (fields->fortran_order) {
    return Error{ErrorCode::kContract,
                 "the array is in Fortran order; numpy.ascontiguousarray makes a copy in C order"};
  }
  return NpyHeader{*dtype, std::move(fields->shape), located->end};
}

Result<std::string> format_npy_header(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (shape.size() > kMaxRank) {
    return Error{ErrorCode::kContract, "a tensor of " + std::to_string(shape.size()) +
                                           " dimensions cannot be a NumPy array; the limit is " +
                                           std::to_string(kMaxRank)};
  }
  const auto* description =
      std::find_if(kDescriptions.begin(), kDescriptions.end(),
                   [&tensor](const auto& candidate) { return candidate.second == tensor.dtype(); });
  std::string sizes;
  for (const std::int64_t size : shape) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  if (shape.size() == 1) sizes += ',';
  std::string text = "{'descr': '" + std::string(description->first) +
                     "', 'fortran_order': False, 'shape': (" + sizes + "), }";

  constexpr std::size_t kPrefix = kMagic.size() + 4;  // magic, version, length
  const std::size_t used = (kPrefix + text.size() + 1) % kAlignment;
  text += std::string((kAlignment - used) % kAlignment, ' ') + "\n";
  std::string header(kMagic);
  header += std::string_view("\1\0", 2);
  append_u16(header, static_cast<std::uint16_t>(text.size()));
  return header + text;
}

}  // namespace polystate
