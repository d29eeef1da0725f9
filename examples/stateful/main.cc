// Writes into the cache and reads a window of it back. Usage: stateful ARTIFACT
#include <cstdio>
#include <vector>

#include "polystate/polystate.h"

namespace {

polystate::Status write_and_read(const char* artifact) {
  const auto model = polystate::Model::open(artifact);
  if (!model) return model.error();
  auto session = model->new_session();
  if (!session) return session.error();

  const auto data = polystate::Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  if (const auto outputs = session->run("set_cache", {*data}); !outputs) return outputs.error();

  const auto window = polystate::Tensor::of({3, 4}, std::vector<float>(12, -1.0F));
  if (const auto outputs = session->run("get_cache", {*window}); !outputs) return outputs.error();
  const auto values = window->values<float>();  // get_cache wrote into `window`
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      std::printf(column == 0 ? "%g" : " %g", values[row * 4 + column]);
    }
    std::printf("\n");
  }
  return {};
}

}  // namespace

int main(int argc, char* argv[]) {
  const polystate::Status status = write_and_read(argc == 2 ? argv[1] : "");
  if (!status) std::fprintf(stderr, "stateful: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
