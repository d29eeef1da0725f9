#pragma once

#include <memory>

#include "cli/chat/interrupts.h"
#include "cli/chat/turn_reader.h"
#include "cli/output.h"

namespace polystate::cli {

// Reads turns from the terminal by libedit, which edits lines and knows those before: Alt-Enter, a
// backslash at the end and pasted text make turns of several lines. Null where the library is not
// found, or TERM is "dumb".
//
// Turns are kept for later conversations in the file that POLYSTATE_HISTORY names, else in
// polystate/chat_history under XDG_STATE_HOME or ~/.local/state; nowhere where it is empty.
std::unique_ptr<TurnReader> open_edit_line(Interrupts& interrupts, Output& output);

}  // namespace polystate::cli
