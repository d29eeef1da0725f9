#include "artifact/checksums.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/names.h"
#include "core/text.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {
namespace {

constexpr std::size_t kDigits = 64;
constexpr std::string_view kSpaces = "  ";

Error damaged(std::size_t line, const std::string& what) {
  return {ErrorCode::kArtifact, "line " + std::to_string(line) + ": " + what};
}

}  // namespace

Result<std::map<std::string, Sha256>> parse_checksums(std::string_view text) {
  std::map<std::string, Sha256> digests;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return damaged(number, "the line feed at its end is missing");
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);

    const std::optional<Sha256> digest = sha256_from_hex(line.substr(0, kDigits));
    if (!digest) return damaged(number, "does not begin with 64 lower-case hex digits");
    if (line.substr(kDigits, kSpaces.size()) != kSpaces) {
      return damaged(number, "does not have two spaces after the digest");
    }
    const std::string name(line.substr(kDigits + kSpaces.size()));
    if (!is_file_name(name)) return damaged(number, in_quotes(name) + " is not a file name");
    if (!digests.empty() && digests.rbegin()->first >= name) {
      return damaged(
          number, in_quotes(name) + " does not come after " + in_quotes(digests.rbegin()->first));
    }
    digests.emplace_hint(digests.end(), name, *digest);
  }
  return digests;
}

}  // namespace polystate
