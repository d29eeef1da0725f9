#include "program/flat_cursor.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::program {
namespace {

// Tables share their vtables, and equal texts may be stored once, so that the bytes of a sound file
// are read about twice.
constexpr std::uint64_t kReadsOfByte = 8;
constexpr std::uint64_t kReadsOfAny = std::uint64_t{1} << 20U;

}  // namespace

FlatFile::FlatFile(std::span<const std::byte> bytes)
    : bytes_(bytes), budget_(bytes.size() * kReadsOfByte + kReadsOfAny) {}

void FlatFile::fail(std::uint64_t place, const std::string& what) {
  if (!status_) return;
  status_ = Error{ErrorCode::kArtifact,
                  "the program is damaged at byte " + std::to_string(place) + ": " + what};
}

std::optional<std::span<const std::byte>> FlatFile::part(std::uint64_t place, std::uint64_t size) {
  if (!status_) return std::nullopt;
  if (place > bytes_.size() || size > bytes_.size() - place) {
    fail(place, std::to_string(size) + " bytes there end behind the program's " +
                    std::to_string(bytes_.size()));
    return std::nullopt;
  }
  if (size > budget_) {
    fail(place, "too many parts lie in one another");
    return std::nullopt;
  }
  budget_ -= size;
  return bytes_.subspan(place, size);
}

std::optional<std::uint64_t> FlatCursor::place_of(std::size_t field) const {
  const std::int64_t distance = file_->number<std::int32_t>(start_);
  const std::int64_t vtable = static_cast<std::int64_t>(start_) - distance;
  if (vtable < 0) {
    fail("its vtable is before the file");
    return std::nullopt;
  }
  const auto from = static_cast<std::uint64_t>(vtable);
  const std::uint64_t entry = (2 + field) * sizeof(std::uint16_t);
  if (entry + sizeof(std::uint16_t) > file_->number<std::uint16_t>(from)) return std::nullopt;
  const std::uint64_t offset = file_->number<std::uint16_t>(from + entry);
  return offset == 0 ? std::nullopt : std::optional(start_ + offset);
}

std::optional<std::uint64_t> FlatCursor::target_of(std::size_t field) const {
  const auto place = place_of(field);
  if (!place) return std::nullopt;
  return *place + file_->number<std::uint32_t>(*place);
}

std::optional<FlatCursor> FlatCursor::table(std::size_t field) const {
  const auto target = target_of(field);
  if (!target || !file_->status()) return std::nullopt;
  return FlatCursor(*file_, *target);
}

std::span<const std::byte> FlatCursor::vector(std::size_t field, std::size_t size) const {
  const auto target = target_of(field);
  if (!target) return {};
  const std::uint64_t count = file_->number<std::uint32_t>(*target);
  return file_->part(*target + sizeof(std::uint32_t), count * size)
      .value_or(std::span<const std::byte>());
}

std::span<const std::byte> FlatCursor::bytes(std::size_t field) const { return vector(field, 1); }

std::string FlatCursor::text(std::size_t field) const {
  const std::span<const std::byte> characters = vector(field, 1);
  std::string text;
  text.reserve(characters.size());
  for (const std::byte character : characters) text += static_cast<char>(character);
  return text;
}

std::vector<FlatCursor> FlatCursor::tables(std::size_t field) const {
  std::vector<FlatCursor> tables;
  const auto target = target_of(field);
  if (!target) return tables;
  const std::size_t count = vector(field, sizeof(std::uint32_t)).size() / sizeof(std::uint32_t);
  tables.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t place = *target + (i + 1) * sizeof(std::uint32_t);
    tables.push_back(FlatCursor(*file_, place + file_->number<std::uint32_t>(place)));
  }
  return tables;
}

}  // namespace polystate::program
