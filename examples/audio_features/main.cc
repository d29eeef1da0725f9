// Hears a stream in three pieces, and tells of the last step of each. Usage: audio_features
// ARTIFACT
#include <cstdint>
#include <cstdio>
#include <vector>

#include "polystate/polystate.h"

namespace {

constexpr std::int64_t kHop = 160;

polystate::Status hear(polystate::Session& session, std::int64_t first, std::int64_t last) {
  std::vector<float> samples;
  for (std::int64_t i = first * kHop; i < last * kHop; ++i) {
    samples.push_back(static_cast<float>(i * 7 % 11 - 5) / 5);
  }
  const auto chunk = polystate::Tensor::of({last - first, kHop}, samples);
  if (!chunk) return chunk.error();
  const auto outputs = session.run("hear", {*chunk});
  if (!outputs) return outputs.error();
  const auto features = (*outputs)[0].values<float>().last(40);  // of the last step
  std::printf("middle %g highest %g\n", features[20], features.back());
  return {};
}

polystate::Status hear_pieces(const char* artifact) {
  const auto model = polystate::Model::open(artifact);
  if (!model) return model.error();
  auto session = model->new_session();
  if (!session) return session.error();
  std::int64_t heard = 0;
  for (const std::int64_t next : {2, 10, 30}) {
    if (const auto status = hear(*session, heard, next); !status) return status;
    heard = next;
  }
  return {};
}

}  // namespace

int main(int argc, char* argv[]) {
  const polystate::Status status = hear_pieces(argc == 2 ? argv[1] : "");
  if (!status) std::fprintf(stderr, "audio_features: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
