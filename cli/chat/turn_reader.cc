#include "cli/chat/turn_reader.h"

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/chat/edit_line.h"
#include "cli/chat/interrupts.h"
#include "cli/output.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

// Takes the marks of pasted text out of a line. Whether a paste is still open at its end.
bool take_paste_marks(std::string& line, bool is_open) {
  for (const auto& [mark, opens] : {std::pair(kPasteBegin, true), std::pair(kPasteEnd, false)}) {
    for (std::size_t at = line.find(mark); at != std::string::npos; at = line.find(mark)) {
      line.erase(at, std::strlen(mark));
      is_open = opens;
    }
  }
  return is_open;
}

}  // namespace

Result<std::optional<std::string>> LineTurns::read() {
  Result<std::vector<std::string>> lines = lines_.next(1);
  if (!lines) return lines.error();
  if (lines->empty()) return std::optional<std::string>();
  return std::optional(std::move(lines->front()));
}

TerminalTurns::TerminalTurns(Interrupts& interrupts, Output& prompts)
    : interrupts_(&interrupts), prompts_(&prompts) {
  if (prompts_->is_terminal()) prompts_->write(kTellPastes);
}

TerminalTurns::~TerminalTurns() {
  if (prompts_->is_terminal()) prompts_->write(kTellNoPastes);
}

Result<std::optional<std::string>> TerminalTurns::read() {
  std::string turn;
  bool in_paste = false;
  prompts_->write(kPrompt);
  while (true) {
    std::string line;
    const Result<bool> is_read = read_line(line);
    if (!is_read) return is_read.error();
    if (!*is_read) {
      prompts_->write("\n");
      if (!interrupts_->is_stopped()) return std::optional<std::string>();
      interrupts_->forget_stop();
      unread_.clear();
      return std::optional(std::string());
    }
    in_paste = take_paste_marks(line, in_paste);
    const bool goes_on = in_paste || line.ends_with('\\');
    if (!in_paste && goes_on) line.pop_back();
    turn += line;
    if (!goes_on) return std::optional(std::move(turn));
    turn += '\n';
    if (!in_paste) prompts_->write(kMorePrompt);
  }
}

Result<bool> TerminalTurns::read_line(std::string& line) {
  std::size_t end = unread_.find('\n');
  while (end == std::string::npos) {
    if (!interrupts_->wait_for(STDIN_FILENO)) {
      if (interrupts_->is_stopped()) return false;
      continue;
    }
    std::array<char, 4096> bytes;
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Error{ErrorCode::kContract,
                   std::string("the input cannot be read: ") + std::strerror(errno)};
    }
    if (count == 0) return false;
    const std::size_t searched = unread_.size();
    unread_.append(bytes.data(), static_cast<std::size_t>(count));
    end = unread_.find('\n', searched);
  }
  line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return true;
}

std::unique_ptr<TurnReader> open_turn_reader(Interrupts& interrupts, Output& output,
                                             Output& errors) {
  if (::isatty(STDIN_FILENO) != 1) return std::make_unique<LineTurns>(STDIN_FILENO);
  if (!output.is_terminal()) return std::make_unique<TerminalTurns>(interrupts, errors);
  if (auto edited = open_edit_line(interrupts, output)) return edited;
  return std::make_unique<TerminalTurns>(interrupts, output);
}

}  // namespace polystate::cli
