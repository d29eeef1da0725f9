#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate::tokenizer {

// Reads the fields of one protobuf message, one after the other (protobuf.dev, "Encoding").
class ProtobufReader {
 public:
  struct Field {
    std::uint32_t number;
    std::uint64_t integer = 0;    // of a varint or a fixed number, as its bits
    std::string_view bytes = {};  // of a string, bytes, or a message
    bool is_bytes = false;

    [[nodiscard]] float as_float() const;
    [[nodiscard]] bool as_bool() const { return integer != 0; }
  };

  // The message's bytes, which must outlive the reader and what it gives.
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  // The next field; nothing at the end. kArtifact when the message is malformed.
  Result<std::optional<Field>> next();

 private:
  std::optional<std::uint64_t> varint();
  std::optional<std::uint64_t> fixed(std::size_t size);

  std::string_view rest_;
};

}  // namespace polystate::tokenizer
