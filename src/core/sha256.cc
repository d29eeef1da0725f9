#include "polystate/core/sha256.h"

#include <openssl/evp.h>
#include <openssl/types.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate {
namespace {

EVP_MD_CTX* as_context(void* context) { return static_cast<EVP_MD_CTX*>(context); }

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

void Sha256Hasher::Deleter::operator()(void* context) const {
  EVP_MD_CTX_free(as_context(context));
}

Sha256Hasher::Sha256Hasher() : context_(EVP_MD_CTX_new()) {
  if (context_ && EVP_DigestInit_ex(as_context(context_.get()), EVP_sha256(), nullptr) != 1) {
    context_.reset();
  }
}

void Sha256Hasher::update(std::span<const std::byte> bytes) {
  if (context_ && EVP_DigestUpdate(as_context(context_.get()), bytes.data(), bytes.size()) != 1) {
    context_.reset();
  }
}

Result<Sha256> Sha256Hasher::finish() {
  Sha256 digest;
  const bool done =
      context_ && EVP_DigestFinal_ex(as_context(context_.get()),
                                     reinterpret_cast<unsigned char*>(digest.data()), nullptr) == 1;
  context_.reset();
  if (!done) return Error{ErrorCode::kEngine, "OpenSSL could not compute a SHA-256 digest"};
  return digest;
}

Result<Sha256> sha256_of(std::span<const std::byte> bytes) {
  Sha256Hasher hasher;
  hasher.update(bytes);
  return hasher.finish();
}

std::string to_hex(const Sha256& digest) {
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const std::byte byte : digest) {
    hex += kHexDigits[std::to_integer<std::size_t>(byte >> 4)];
    hex += kHexDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return hex;
}

std::optional<Sha256> sha256_from_hex(std::string_view hex) {
  Sha256 digest;
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const std::size_t high = kHexDigits.find(hex[2 * i]);
    const std::size_t low = kHexDigits.find(hex[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    digest[i] = static_cast<std::byte>(16 * high + low);
  }
  return digest;
}

}  // namespace polystate
