#include "chat_template/date_text.h"

#include <locale.h>  // newlocale, which is POSIX's
#include <time.h>    // strftime_l, likewise

#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/rendering.h"
#include "chat_template/text.h"

namespace polystate::chat_template {
namespace {

constexpr std::size_t kLongestFormat = 4096;

// The format without what Python writes itself: microseconds, and the zone, which is empty.
std::string without_python_directives(std::string_view format) {
  std::string plain;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      plain += format[i];
      continue;
    }
    const char directive = format[++i];
    if (directive == 'f') {
      plain += "000000";
    } else if (directive != 'z' && directive != 'Z') {
      plain += '%';
      plain += directive;
    }
  }
  return plain;
}

}  // namespace

Text date_text(Rendering& rendering, const Text& format, const std::tm& time) {
  if (format.size() > kLongestFormat) {
    rendering.fail("the format of a date has more than " + std::to_string(kLongestFormat) +
                   " bytes");
    return {};
  }
  // strftime answers 0 for an empty text, as for a buffer that is too small.
  const std::string pattern = without_python_directives(format.bytes()) + "x";
  std::string text(pattern.size() * 64 + 64, '\0');
  const auto plain = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::size_t size = strftime_l(text.data(), text.size(), pattern.c_str(), &time, plain);
  freelocale(plain);
  if (size == 0) {
    rendering.fail("the format of a date makes too long a text");
    return {};
  }
  text.resize(size - 1);
  return {std::move(text), format.has_user_bytes() ? Origin::kUser : Origin::kTemplate};
}

}  // namespace polystate::chat_template
