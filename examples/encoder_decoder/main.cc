// Encodes a sentence of ids and decodes greedily. Usage: encoder_decoder ARTIFACT
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <variant>

#include "polystate/polystate.h"

namespace {

polystate::Status translate(const char* artifact) {
  const auto model = polystate::Model::open(artifact);
  if (!model) return model.error();
  const auto constant = model->manifest().constants.find("start_token");
  const auto* const start = constant == model->manifest().constants.end()
                                ? nullptr
                                : std::get_if<std::int64_t>(&constant->second);
  if (start == nullptr) {
    return polystate::Error{polystate::ErrorCode::kArtifact, "the artifact has no start_token"};
  }
  std::int64_t token = *start;
  auto session = model->new_session();
  if (!session) return session.error();

  const auto sentence = polystate::Tensor::of<std::int64_t>({5}, {5, 17, 3, 29, 8});
  if (const auto outputs = session->run("encode", {*sentence}); !outputs) return outputs.error();

  for (int step = 0; step < 10; ++step) {
    const auto outputs =
        session->run("decode", {*polystate::Tensor::of<std::int64_t>({1}, {token})});
    if (!outputs) return outputs.error();
    const auto logits = (*outputs)[0].values<float>();  // [vocabulary]
    token = std::max_element(logits.begin(), logits.end()) - logits.begin();
    std::printf("%lld\n", static_cast<long long>(token));
  }
  return {};
}

}  // namespace

int main(int argc, char* argv[]) {
  const polystate::Status status = translate(argc == 2 ? argv[1] : "");
  if (!status) std::fprintf(stderr, "encoder_decoder: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
