#include "cli/run/literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/half.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

constexpr std::size_t kDeepest = 8;
constexpr std::string_view kSpaces = " \t\n\r";

template <typename T>
void append_bytes(std::vector<std::byte>& out, T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <typename T>
bool append_integer(std::vector<std::byte>& out, std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return false;
  append_bytes(out, value);
  return true;
}

// "nan", "inf" and decimals; a finite number that T cannot hold is refused.
template <typename T>
bool parse_float(std::string_view word, T& value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && end == word.data() + word.size();
}

bool append_half(std::vector<std::byte>& out, std::string_view word, DType dtype) {
  float value = 0;
  if (!parse_float(word, value)) return false;
  const std::uint16_t bits =
      dtype == DType::kFloat16 ? float_to_float16(value) : float_to_bfloat16(value);
  const float kept = dtype == DType::kFloat16 ? float16_to_float(bits) : bfloat16_to_float(bits);
  if (std::isinf(kept) && !std::isinf(value)) return false;
  append_bytes(out, bits);
  return true;
}

template <typename T>
bool append_float(std::vector<std::byte>& out, std::string_view word) {
  T value = 0;
  if (!parse_float(word, value)) return false;
  append_bytes(out, value);
  return true;
}

// Where the imaginary part of a complex number begins: at its sign, or at 0 where it has no real
// one. A sign after "e" is an exponent's.
std::size_t start_of_imaginary(std::string_view word) {
  for (std::size_t i = word.size(); i-- > 1;) {
    const bool is_sign = word[i] == '+' || word[i] == '-';
    if (is_sign && word[i - 1] != 'e' && word[i - 1] != 'E') return i;
  }
  return 0;
}

// "1.5", "-2j", "1e3-2.5j".
template <typename T>
bool append_complex(std::vector<std::byte>& out, std::string_view word) {
  T real = 0;
  T imaginary = 0;
  if (!word.ends_with('j')) {
    if (!parse_float(word, real)) return false;
  } else {
    word.remove_suffix(1);
    const std::size_t start = start_of_imaginary(word);
    if (start > 0 && !parse_float(word.substr(0, start), real)) return false;
    word.remove_prefix(start);
    if (start > 0 && word.starts_with('+')) word.remove_prefix(1);
    if (!parse_float(word, imaginary)) return false;
  }
  append_bytes(out, real);
  append_bytes(out, imaginary);
  return true;
}

bool append_bool(std::vector<std::byte>& out, std::string_view word) {
  if (word != "true" && word != "false" && word != "1" && word != "0") return false;
  out.push_back(std::byte{word == "true" || word == "1"});
  return true;
}

// Appends the element that `word` spells; false where it spells no element of `dtype`.
bool append_element(std::vector<std::byte>& out, std::string_view word, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return append_bool(out, word);
    case DType::kUInt8:
      return append_integer<std::uint8_t>(out, word);
    case DType::kInt8:
      return append_integer<std::int8_t>(out, word);
    case DType::kInt16:
      return append_integer<std::int16_t>(out, word);
    case DType::kInt32:
      return append_integer<std::int32_t>(out, word);
    case DType::kInt64:
      return append_integer<std::int64_t>(out, word);
    case DType::kFloat16:
    case DType::kBFloat16:
      return append_half(out, word, dtype);
    case DType::kFloat32:
      return append_float<float>(out, word);
    case DType::kFloat64:
      return append_float<double>(out, word);
    case DType::kComplex64:
      return append_complex<float>(out, word);
    case DType::kComplex128:
      return append_complex<double>(out, word);
  }
  return false;
}

template <typename T>
std::string range_text() {
  return " (" + std::to_string(std::numeric_limits<T>::min()) + " to " +
         std::to_string(std::numeric_limits<T>::max()) + ")";
}

// "uint8 (0 to 255)", "bool": what an element had to be.
std::string kind_text(DType dtype) {
  std::string name(name_of(dtype));
  switch (dtype) {
    case DType::kUInt8:
      return name + range_text<std::uint8_t>();
    case DType::kInt8:
      return name + range_text<std::int8_t>();
    case DType::kInt16:
      return name + range_text<std::int16_t>();
    case DType::kInt32:
      return name + range_text<std::int32_t>();
    case DType::kInt64:
      return name + range_text<std::int64_t>();
    default:
      return name;
  }
}

// A recursive-descent reader of   value = word | "[" [value {"," value}] "]".
class LiteralReader {
 public:
  LiteralReader(std::string_view text, DType dtype) : text_(text), dtype_(dtype) {}

  Result<Tensor> read() {
    const Status status = read_value(0);
    if (!status) return status.error();
    skip_spaces();
    if (position_ != text_.size()) return fail("something follows the value");
    return Tensor::copy_of(dtype_, std::move(shape_), bytes_);
  }

 private:
  Status read_value(std::size_t depth) {
    if (!next_is('[')) return read_word(depth);
    if (depth == kDeepest) return fail("lists nest at most " + std::to_string(kDeepest) + " deep");
    if (is_depth_known_ && depth >= shape_.size()) return fail("a list stands among numbers");
    ++position_;
    return read_list(depth);
  }

  // What follows "[". The first list at each depth gives the size there, and the others must equal
  // it.
  Status read_list(std::size_t depth) {
    const bool is_first = depth == shape_.size();
    if (is_first) shape_.push_back(0);
    std::int64_t size = 0;
    if (!accept(']')) {
      do {
        if (Status status = read_value(depth + 1); !status) return status;
        ++size;
      } while (accept(','));
      if (!accept(']')) return fail("',' or ']' is missing");
    }
    if (is_first) {
      shape_[depth] = size;
    } else if (shape_[depth] != size) {
      return fail("a list of " + std::to_string(size) + " stands beside one of " +
                  std::to_string(shape_[depth]));
    }
    is_depth_known_ = true;
    return {};
  }

  Status read_word(std::size_t depth) {
    const std::size_t end = std::min(text_.find_first_of(",[] \t\n\r", position_), text_.size());
    const std::string word(text_.substr(position_, end - position_));
    if (depth != shape_.size()) return fail("a number stands among lists");
    is_depth_known_ = true;
    if (!append_element(bytes_, word, dtype_)) {
      return fail("'" + word + "' is no " + kind_text(dtype_));
    }
    position_ = end;
    return {};
  }

  bool next_is(char c) {
    skip_spaces();
    return position_ < text_.size() && text_[position_] == c;
  }

  bool accept(char c) {
    const bool found = next_is(c);
    position_ += found ? 1 : 0;
    return found;
  }

  void skip_spaces() {
    position_ = std::min(text_.find_first_not_of(kSpaces, position_), text_.size());
  }

  [[nodiscard]] Error fail(const std::string& what) const {
    return Error{ErrorCode::kContract, what + ", at character " + std::to_string(position_ + 1)};
  }

  std::string_view text_;
  DType dtype_;
  std::size_t position_ = 0;
  Shape shape_;
  bool is_depth_known_ =
      false;  // whether shape_.size() is final: an element or a whole list was read
  std::vector<std::byte> bytes_;
};

}  // namespace

Result<Tensor> parse_literal(std::string_view text, DType dtype) {
  return LiteralReader(text, dtype).read();
}

}  // namespace polystate::cli
