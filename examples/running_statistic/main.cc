// Feeds measurements in two parts, then starts anew. Usage: running_statistic ARTIFACT
#include <cstdio>
#include <utility>
#include <vector>

#include "polystate/polystate.h"

namespace {

polystate::Status report(polystate::Session& session) {
  const auto outputs = session.run("read");
  if (!outputs) return outputs.error();
  std::printf("mean %.4f variance %.4f\n", (*outputs)[0].values<float>()[0],
              (*outputs)[1].values<float>()[0]);
  return {};
}

polystate::Status call(polystate::Session& session, const char* method, polystate::Shape shape,
                       const std::vector<float>& values) {
  const auto input = polystate::Tensor::of(std::move(shape), values);
  if (!input) return input.error();
  const auto outputs = session.run(method, {*input});
  return outputs ? polystate::Status() : outputs.error();
}

polystate::Status measure(const char* artifact) {
  const auto model = polystate::Model::open(artifact);
  if (!model) return model.error();
  auto session = model->new_session();
  if (!session) return session.error();

  if (auto status = report(*session); !status) return status;  // the prior it was exported with
  if (auto status = call(*session, "update", {3}, {18.5F, 21.25F, 19.0F}); !status) return status;
  if (auto status = call(*session, "update", {1}, {22.75F}); !status) return status;
  if (auto status = report(*session); !status) return status;
  if (auto status = call(*session, "start", {}, {15.0F}); !status) return status;
  if (auto status = call(*session, "update", {2}, {16.0F, 17.0F}); !status) return status;
  if (auto status = report(*session); !status) return status;
  if (auto status = session->reset(); !status) return status;
  return report(*session);
}

}  // namespace

int main(int argc, char* argv[]) {
  const polystate::Status status = measure(argc == 2 ? argv[1] : "");
  if (!status) std::fprintf(stderr, "running_statistic: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
