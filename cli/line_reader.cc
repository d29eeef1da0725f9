#include "cli/line_reader.h"

#include <sys/poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/wait_until.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

constexpr std::size_t kReadBytes = 65536;
constexpr std::string_view kMark = "\xEF\xBB\xBF";

}  // namespace

std::string LineReader::without_end(std::string line) const {
  if (end_ == LineEnd::kAny && !line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

Result<std::vector<std::string>> LineReader::next(std::size_t limit) {
  std::vector<std::string> lines;
  take_lines(lines, limit);
  while (!at_end_ && lines.size() < limit && (lines.empty() || has_more_now())) {
    if (const Status read = read_some(); !read) return read.error();
    take_lines(lines, limit);
  }
  if (at_end_ && lines.size() < limit && begin_ < unread_.size()) {  // a last line without an end
    lines.push_back(without_end(unread_.substr(begin_)));
    begin_ = unread_.size();
  }
  return lines;
}

Result<std::string> LineReader::rest() {
  while (!at_end_) {
    if (const Status read = read_some(); !read) return read.error();
  }
  std::string text = std::exchange(unread_, {});
  text.erase(0, std::exchange(begin_, 0));
  searched_ = 0;
  return text;
}

void LineReader::take_lines(std::vector<std::string>& lines, std::size_t limit) {
  while (lines.size() < limit) {
    const std::size_t end = unread_.find('\n', searched_);
    if (end == std::string::npos) {
      searched_ = unread_.size();
      break;
    }
    lines.push_back(without_end(unread_.substr(begin_, end - begin_)));
    begin_ = searched_ = end + 1;
  }
}

bool LineReader::has_more_now() const {
  pollfd descriptor{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return ::poll(&descriptor, 1, 0) > 0;
}

Status LineReader::read_some() {
  unread_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  std::array<char, kReadBytes> bytes;
  ssize_t count = 0;
  do {
    count = ::read(descriptor_, bytes.data(), bytes.size());
  } while (count < 0 && (errno == EINTR || (errno == EAGAIN && wait_until(descriptor_, POLLIN))));
  if (count < 0)
    return Error{ErrorCode::kContract,
                 std::string("the input cannot be read: ") + std::strerror(errno)};
  at_end_ = count == 0;
  unread_.append(bytes.data(), static_cast<std::size_t>(count));
  if (may_have_mark_) take_mark();
  return {};
}

void LineReader::take_mark() {
  if (!at_end_ && unread_.size() < kMark.size() && kMark.starts_with(unread_)) return;
  may_have_mark_ = false;
  if (!unread_.starts_with(kMark)) return;
  unread_.erase(0, kMark.size());
  searched_ = 0;
}

}  // namespace polystate::cli
