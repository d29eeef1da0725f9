#pragma once

#include <functional>
#include <span>
#include <string>

#include "cli/output.h"
#include "polystate/core/result.h"

namespace polystate::cli {

// Gives `take` the lines of a file, or of standard input for "-", in groups, as they come: few at
// first, for an early answer, then twice as many each time, up to enough to batch them by length
// and few enough to hold. Ends when nobody would see the output any more, or with the error of
// `take`; kContract for what cannot be read.
Status for_each_group_of_lines(const std::string& file, const Output& output,
                               const std::function<Status(std::span<const std::string>)>& take);

// All of a file, or of standard input for "-", without the end of its last line, "\n" or "\r\n".
// kContract for what cannot be read.
Result<std::string> whole_text(const std::string& file);

}  // namespace polystate::cli
