#include "tokenizer/loaders/protobuf.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "polystate/core/result.h"

namespace polystate::tokenizer {

float ProtobufReader::Field::as_float() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(integer));
}

std::optional<std::uint64_t> ProtobufReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ProtobufReader::fixed(std::size_t size) {
  if (rest_.size() < size) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = size; i > 0; --i)
    value = value << 8U | static_cast<unsigned char>(rest_[i - 1]);
  rest_.remove_prefix(size);
  return value;
}

Result<std::optional<ProtobufReader::Field>> ProtobufReader::next() {
  if (rest_.empty()) return std::optional<Field>();
  const std::size_t left = rest_.size();
  const auto malformed = [left] {
    return Error{ErrorCode::kArtifact, "a field is malformed, " + std::to_string(left) +
                                           " bytes before its message ends"};
  };
  const auto key = varint();
  if (!key || *key >> 3U == 0 || *key >> 32U != 0) return malformed();
  Field field{static_cast<std::uint32_t>(*key >> 3U)};
  std::optional<std::uint64_t> value;
  switch (*key & 7U) {
    case 0:
      value = varint();
      break;
    case 1:
      value = fixed(8);
      break;
    case 2:
      value = varint();
      if (!value || *value > rest_.size()) return malformed();
      field.bytes = rest_.substr(0, *value);
      field.is_bytes = true;
      rest_.remove_prefix(*value);
      break;
    case 5:
      value = fixed(4);
      break;
    default:
      return malformed();
  }
  if (!value) return malformed();
  field.integer = *value;
  return std::optional(field);
}

}  // namespace polystate::tokenizer
