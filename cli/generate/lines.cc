#include "cli/generate/lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/line_reader.h"
#include "cli/output.h"
#include "core/file.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

constexpr std::size_t kFirstGroup = 64;
constexpr std::size_t kLargestGroup = 2048;

using TakeLines = std::function<Status(std::span<const std::string>)>;

Status for_each_group(int descriptor, const Output& output, const TakeLines& take) {
  LineReader reader(descriptor);
  for (std::size_t group = kFirstGroup; !output.is_closed();
       group = std::min(2 * group, kLargestGroup)) {
    const Result<std::vector<std::string>> lines = reader.next(group);
    if (!lines) return lines.error();
    if (lines->empty()) break;
    if (Status taken = take(*lines); !taken) return taken;
  }
  return {};
}

// Gives `take` the descriptor of a file, or of standard input for "-".
Status with_descriptor(const std::string& file, const std::function<Status(int)>& take) {
  if (file == "-") return take(STDIN_FILENO);
  const FileDescriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor.is_open())
    return Error{ErrorCode::kContract, "'" + file + "' cannot be read: " + errno_text(errno)};
  return take(descriptor.get());
}

}  // namespace

Status for_each_group_of_lines(const std::string& file, const Output& output,
                               const TakeLines& take) {
  return with_descriptor(file,
                         [&](int descriptor) { return for_each_group(descriptor, output, take); });
}

Result<std::string> whole_text(const std::string& file) {
  std::string text;
  const Status read = with_descriptor(file, [&](int descriptor) -> Status {
    Result<std::string> rest = LineReader(descriptor).rest();
    if (!rest) return rest.error();
    text = *std::move(rest);
    return {};
  });
  if (!read) return read.error();
  if (text.ends_with('\n')) {
    text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
  }
  return text;
}

}  // namespace polystate::cli
