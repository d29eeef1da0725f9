#include "core/plain_numbers.h"

#include <locale.h>  // newlocale, which is POSIX's

namespace polystate {
namespace {

auto plain_locale() {
  static const auto plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return plain;
}

}  // namespace

PlainNumbers::PlainNumbers() : before_(uselocale(plain_locale())) {}

PlainNumbers::~PlainNumbers() { uselocale(before_); }

}  // namespace polystate
