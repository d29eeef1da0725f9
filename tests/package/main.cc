#include <cstdio>

#include "polystate/session/model.h"

// Opens an artifact that is not there: every layer of the library is linked, and reports it.
int main() {
  const auto model = polystate::Model::open("no_such_artifact");
  if (model) {
    std::puts("an artifact that does not exist was opened");
    return 1;
  }
  std::puts(model.error().message.c_str());
  return model.error().message.find("no_such_artifact") == std::string::npos ? 1 : 0;
}
