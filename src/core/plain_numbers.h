#pragma once

#include <locale.h>  // locale_t, which is POSIX's

namespace polystate {

// While it lives, the C library writes and reads numbers on this thread as the "C" locale does,
// with a decimal point, whatever locale the program has chosen. Libraries ask it without saying so:
// nlohmann's parser, for one.
class PlainNumbers {
 public:
  PlainNumbers();
  ~PlainNumbers();
  PlainNumbers(const PlainNumbers&) = delete;
  PlainNumbers& operator=(const PlainNumbers&) = delete;

 private:
  locale_t before_;
};

}  // namespace polystate
