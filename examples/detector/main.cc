// Listens to a stream in pieces, as they come. Usage: detector ARTIFACT
#include <cstdint>
#include <cstdio>
#include <vector>

#include "polystate/polystate.h"

namespace {

constexpr std::int64_t kChannels = 3;

// Samples `first` to `last - 1` of the stream.
polystate::Result<polystate::Tensor> piece(std::int64_t first, std::int64_t last) {
  std::vector<float> samples;
  for (std::int64_t i = first * kChannels; i < last * kChannels; ++i) {
    samples.push_back(static_cast<float>(i * 7 % 11 - 5) / 5);
  }
  return polystate::Tensor::of({last - first, kChannels}, samples);
}

polystate::Status listen(polystate::Session& session, std::int64_t first, std::int64_t last) {
  const auto samples = piece(first, last);
  if (!samples) return samples.error();
  const auto outputs = session.run("listen", {*samples});
  if (!outputs) return outputs.error();
  const auto scores = (*outputs)[0].values<float>();
  std::printf("score %g level %g\n", scores.back(), (*outputs)[1].values<float>()[0]);
  return {};
}

polystate::Status listen_to_pieces(const char* artifact) {
  const auto model = polystate::Model::open(artifact);
  if (!model) return model.error();
  auto session = model->new_session();
  if (!session) return session.error();
  std::int64_t heard = 0;
  for (const std::int64_t next : {1, 20, 25, 57}) {
    if (const auto status = listen(*session, heard, next); !status) return status;
    heard = next;
  }
  if (const auto status = session->reset(); !status) return status;  // another stream
  return listen(*session, 0, 1);
}

}  // namespace

int main(int argc, char* argv[]) {
  const polystate::Status status = listen_to_pieces(argc == 2 ? argv[1] : "");
  if (!status) std::fprintf(stderr, "detector: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
