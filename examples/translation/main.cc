// Translates a text. Usage: translation ARTIFACT TEXT
#include <cstdio>
#include <string>

#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"

namespace {

polystate::Result<std::string> translate(const char* artifact, const char* text) {
  const auto pipeline = polystate::Pipeline::open(artifact);
  if (!pipeline) return pipeline.error();
  return (*pipeline)->run(text);
}

}  // namespace

int main(int argc, char* argv[]) {
  const auto translation = translate(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  if (translation) std::printf("%s\n", translation->c_str());
  if (!translation) std::fprintf(stderr, "translation: %s\n", translation.error().message.c_str());
  return translation ? 0 : 1;
}
