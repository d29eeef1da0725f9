#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace polystate {

// A table of a FlatBuffers file (https://flatbuffers.dev/internals), for fields that ExecuTorch's
// own classes do not show. The bytes must have passed FlatBuffers' verifier.
class FlatTable {
 public:
  // The root table of a file.
  static FlatTable root(std::span<const std::byte> file) { return at_offset(file, 0); }

  // Whether a field is given, by its position in the schema.
  [[nodiscard]] bool has(std::size_t field) const { return place_of(field).has_value(); }

  // The number of a vector's tables; none where the vector is left out.
  [[nodiscard]] std::size_t count(std::size_t field) const {
    const auto place = place_of(field);
    return place ? read<std::uint32_t>(target(*place)) : 0;
  }

  // Table `index` of a vector, which must have it.
  [[nodiscard]] FlatTable table(std::size_t field, std::size_t index) const {
    const std::size_t elements = target(place_of(field).value_or(0)) + sizeof(std::uint32_t);
    return at_offset(file_, elements + index * sizeof(std::uint32_t));
  }

 private:
  FlatTable(std::span<const std::byte> file, std::size_t start) : file_(file), start_(start) {}

  static FlatTable at_offset(std::span<const std::byte> file, std::size_t place) {
    const FlatTable reader(file, place);
    return {file, reader.target(place)};
  }

  template <typename T>
  [[nodiscard]] T read(std::size_t place) const {
    T value;
    std::memcpy(&value, file_.subspan(place, sizeof(T)).data(), sizeof(T));
    return value;
  }

  // Where the offset that lies at `place` leads.
  [[nodiscard]] std::size_t target(std::size_t place) const {
    return place + read<std::uint32_t>(place);
  }

  [[nodiscard]] std::optional<std::size_t> place_of(std::size_t field) const {
    const auto vtable =
        static_cast<std::size_t>(static_cast<std::int64_t>(start_) - read<std::int32_t>(start_));
    const std::size_t entry = (2 + field) * sizeof(std::uint16_t);
    if (entry + sizeof(std::uint16_t) > read<std::uint16_t>(vtable)) return std::nullopt;
    const auto offset = read<std::uint16_t>(vtable + entry);
    return offset == 0 ? std::nullopt : std::optional(start_ + offset);
  }

  std::span<const std::byte> file_;
  std::size_t start_;
};

}  // namespace polystate
