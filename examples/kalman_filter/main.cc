// Follows five tracks for four steps, and tells of the last one. Usage: kalman_filter ARTIFACT
#include <cstdio>
#include <vector>

#include "polystate/polystate.h"

namespace {

polystate::Status measure(polystate::Session& session, int step) {
  std::vector<float> measured;
  for (int track = 0; track < 5; ++track) {
    measured.push_back(5.0F + 0.125F * static_cast<float>(step) +
                       0.03125F * static_cast<float>(track));          // distance
    measured.push_back(0.875F - 0.03125F * static_cast<float>(step));  // bearing
  }
  const auto input = polystate::Tensor::of({5, 2}, measured);
  if (!input) return input.error();
  const auto outputs = session.run("update", {*input});
  if (!outputs) return outputs.error();
  std::printf("likelihood %g certainty %g\n", (*outputs)[0].values<float>()[4],
              (*outputs)[1].values<float>()[4]);
  return {};
}

polystate::Status follow(const char* artifact) {
  const auto model = polystate::Model::open(artifact);
  if (!model) return model.error();
  auto session = model->new_session();
  if (!session) return session.error();
  for (int step = 0; step < 4; ++step) {
    if (const auto status = measure(*session, step); !status) return status;
  }
  return {};
}

}  // namespace

int main(int argc, char* argv[]) {
  const polystate::Status status = follow(argc == 2 ? argv[1] : "");
  if (!status) std::fprintf(stderr, "kalman_filter: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
