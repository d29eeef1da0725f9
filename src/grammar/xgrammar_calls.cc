#include "grammar/xgrammar_calls.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

thread_local std::vector<std::string> warnings;

}  // namespace

// Where xgrammar, compiled with XGRAMMAR_LOG_CUSTOMIZE, sends what it would print.
// NOLINTBEGIN(readability-identifier-naming)
namespace xgrammar {

[[noreturn]] void LogFatalImpl(const std::string&, int, const std::string& message);
void LogMessageImpl(const std::string&, int, int, const std::string& message);

void LogFatalImpl(const std::string&, int, const std::string& message) {
  throw std::runtime_error(message);
}

void LogMessageImpl(const std::string&, int, int, const std::string& message) {
  warnings.push_back(message);
}

}  // namespace xgrammar
// NOLINTEND(readability-identifier-naming)

namespace polystate::grammar {

std::vector<std::string> take_warnings() { return std::exchange(warnings, {}); }

}  // namespace polystate::grammar
