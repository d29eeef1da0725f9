#pragma once

#include <cstddef>
#include <cstdint>

namespace polystate {

// Numbers of the zip format (PKWARE's APPNOTE 6.3).

constexpr std::uint32_t kZipLocalSignature = 0x04034b50;
constexpr std::uint32_t kZipCentralSignature = 0x02014b50;
constexpr std::uint32_t kZipEndSignature = 0x06054b50;
constexpr std::uint32_t kZip64EndSignature = 0x06064b50;
constexpr std::uint32_t kZip64LocatorSignature = 0x07064b50;

// Bytes of each record, without what is of variable length.
constexpr std::size_t kZipLocalSize = 30;
constexpr std::size_t kZipCentralSize = 46;
constexpr std::size_t kZipEndSize = 22;
constexpr std::size_t kZip64EndSize = 56;
constexpr std::size_t kZip64LocatorSize = 20;

// Where a field has this value, a zip64 record holds the number.
constexpr std::uint32_t kZip64Mark32 = 0xFFFFFFFF;
constexpr std::uint16_t kZip64Mark16 = 0xFFFF;
constexpr std::uint16_t kZip64ExtraId = 1;

constexpr std::uint16_t kZipStored = 0;
constexpr std::uint16_t kZipDeflated = 8;

constexpr std::uint16_t kZipEncryptedFlag = 1U << 0U;
constexpr std::uint16_t kZipUtf8Flag = 1U << 11U;

}  // namespace polystate
