#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::program {

// The bytes of a FlatBuffers file (https://flatbuffers.dev/internals) that may be damaged, and the
// first fault that reading them met (kArtifact, with the place). What is read after a fault is
// empty, so that the caller looks at the status once, at the end. The bytes outlive it.
class FlatFile {
 public:
  explicit FlatFile(std::span<const std::byte> bytes);

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const Status& status() const { return status_; }

  // Records a fault at a byte, unless there was one.
  void fail(std::uint64_t place, const std::string& what);

  // The `size` bytes at `place`; nothing, and a fault, where the file has no such bytes. Parts of a
  // file may lie in several others, which would make a small one take long: reading more than a
  // sound file can have is a fault, too.
  [[nodiscard]] std::optional<std::span<const std::byte>> part(std::uint64_t place,
                                                               std::uint64_t size);

  // A number at `place`; 0 after a fault.
  template <typename T>
  [[nodiscard]] T number(std::uint64_t place) {
    T value{};
    if (const auto bytes = part(place, sizeof(T))) std::memcpy(&value, bytes->data(), sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t budget_;  // bytes that may still be read
  Status status_;
};

// A table of a file; fields are named by their positions in the schema. One that is left out has
// its default.
class FlatCursor {
 public:
  // The root table.
  static FlatCursor root(FlatFile& file) { return {file, file.number<std::uint32_t>(0)}; }

  [[nodiscard]] bool has(std::size_t field) const { return place_of(field).has_value(); }

  template <typename T>
  [[nodiscard]] T number(std::size_t field) const {
    const auto place = place_of(field);
    return place ? file_->number<T>(*place) : T{};
  }

  [[nodiscard]] std::optional<FlatCursor> table(std::size_t field) const;
  [[nodiscard]] std::vector<FlatCursor> tables(std::size_t field) const;
  [[nodiscard]] std::string text(std::size_t field) const;
  // The bytes of a vector of bytes.
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t field) const;

  template <typename T>
  [[nodiscard]] std::vector<T> numbers(std::size_t field) const {
    const std::span<const std::byte> elements = vector(field, sizeof(T));
    std::vector<T> values(elements.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), elements.data(), elements.size());
    return values;
  }

  // Of a union, whose type is at `field`, and whose table behind it.
  [[nodiscard]] std::uint8_t union_type(std::size_t field) const {
    return number<std::uint8_t>(field);
  }
  [[nodiscard]] std::optional<FlatCursor> union_table(std::size_t field) const {
    return table(field + 1);
  }

  // Records a fault at this table.
  void fail(const std::string& what) const { file_->fail(start_, what); }

 private:
  FlatCursor(FlatFile& file, std::uint64_t start) : file_(&file), start_(start) {}

  [[nodiscard]] std::optional<std::uint64_t> place_of(std::size_t field) const;
  // Where the offset of a field leads.
  [[nodiscard]] std::optional<std::uint64_t> target_of(std::size_t field) const;
  // The elements of a vector, each of `size` bytes.
  [[nodiscard]] std::span<const std::byte> vector(std::size_t field, std::size_t size) const;

  FlatFile* file_;
  std::uint64_t start_;
};

}  // namespace polystate::program
