#pragma once

#include <string>

#include "polystate/report/document.h"

namespace polystate::report {

// A block as elements of HTML.
std::string block_html(const Block& block);

}  // namespace polystate::report
