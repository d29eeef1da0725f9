#include <iostream>

#include "polystate/polystate.h"

// consumer ARTIFACT: adds 1, 2 and 3 to the artifact's sum, which is trusted, and prints it.
int main(int /*argc*/, char** argv) {
  const auto model = polystate::Model::open(argv[1], {.trust_code = true});
  if (!model) return std::cerr << model.error().message << "\n", 1;
  auto session = model->new_session();
  const auto row = polystate::Tensor::of<float>({3}, {1, 2, 3});
  const auto sum = session->run("add", {*row});
  if (!sum) return std::cerr << sum.error().message << "\n", 1;
  for (const float value : sum->front().values<float>()) std::cout << value << " ";
}
