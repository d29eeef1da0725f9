#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "cli/chat/interrupts.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "polystate/core/result.h"

namespace polystate::cli {

// Reads what a user says, turn after turn.
class TurnReader {
 public:
  virtual ~TurnReader() = default;

  // The next turn, which may have several lines; nothing at the end. An empty one where Ctrl-C left
  // it. kContract for what cannot be read.
  virtual Result<std::optional<std::string>> read() = 0;
};

// The lines of a descriptor that is no terminal: each is a turn.
class LineTurns final : public TurnReader {
 public:
  explicit LineTurns(int descriptor) : lines_(descriptor) {}

  Result<std::optional<std::string>> read() override;

 private:
  LineReader lines_;
};

// The lines of a terminal, as it edits them itself. What is pasted is one turn, as are lines that
// end in a backslash with the next. `prompts` gets the prompts.
class TerminalTurns final : public TurnReader {
 public:
  TerminalTurns(Interrupts& interrupts, Output& prompts);
  ~TerminalTurns() override;
  TerminalTurns(const TerminalTurns&) = delete;
  TerminalTurns& operator=(const TerminalTurns&) = delete;

  Result<std::optional<std::string>> read() override;

 private:
  // Reads until there is a line; false at the end and where Ctrl-C was pressed.
  Result<bool> read_line(std::string& line);

  Interrupts* interrupts_;
  Output* prompts_;
  std::string unread_;
};

// What the prompts of a terminal are.
inline constexpr const char* kPrompt = "> ";
inline constexpr const char* kMorePrompt = "... ";

// Has a terminal tell pasted text from typed text, as its users may expect ("bracketed paste").
inline constexpr const char* kTellPastes = "\x1b[?2004h";
inline constexpr const char* kTellNoPastes = "\x1b[?2004l";
inline constexpr const char* kPasteBegin = "\x1b[200~";
inline constexpr const char* kPasteEnd = "\x1b[201~";

// A reader of standard input: by libedit where that is found and standard input and output are one
// terminal. Prompts go to `errors` where `output`, which gets the answers, is no terminal.
std::unique_ptr<TurnReader> open_turn_reader(Interrupts& interrupts, Output& output,
                                             Output& errors);

}  // namespace polystate::cli
