#pragma once

#include <string>

#include "polystate/report/document.h"

namespace polystate::report {

// Code with its lines numbered and the marked ones coloured, their notes below them.
std::string code_html(const Code& code);

}  // namespace polystate::report
