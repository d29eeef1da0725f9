#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "program/program.h"

namespace polystate::program {

// How many instructions of a method call each operator and each delegate.
std::map<std::string, std::size_t> operator_counts(const Method& method);

}  // namespace polystate::program
