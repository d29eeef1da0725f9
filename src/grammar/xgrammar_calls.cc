#include "grammar/xgrammar_calls.h"

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"

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

Error refusal(const std::exception& thrown) {
  constexpr std::size_t kLongest = 1000;
  std::string message = thrown.what();
  if (message.size() > kLongest) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) --end;
    message.resize(end);
    message += "...";
  }
  return Error{ErrorCode::kContract, std::move(message)};
}

}  // namespace polystate::grammar
