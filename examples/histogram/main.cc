// Counts a stream in two parts, and asks for quantiles after each. Usage: histogram ARTIFACT
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "polystate/polystate.h"

namespace {

// Values `first` to `last - 1` of the stream.
polystate::Result<polystate::Tensor> piece(std::int64_t first, std::int64_t last) {
  std::vector<float> values;
  for (std::int64_t i = first; i < last; ++i) {
    values.push_back(static_cast<float>(i * 37 % 1000) / 10);
  }
  return polystate::Tensor::of({last - first}, values);
}

polystate::Status add(polystate::Session& session, std::int64_t first, std::int64_t last) {
  const auto values = piece(first, last);
  if (!values) return values.error();
  const auto count = session.run("add", {*values});
  if (!count) return count.error();
  const auto shares = polystate::Tensor::of({3}, std::vector<float>{0.1F, 0.5F, 0.99F});
  if (!shares) return shares.error();
  const auto outputs = session.run("quantiles", {*shares});
  if (!outputs) return outputs.error();
  const auto found = (*outputs)[0].values<float>();
  std::printf("count %" PRId64 " low %g median %g high %g\n", (*count)[0].values<std::int64_t>()[0],
              found[0], found[1], found[2]);
  return {};
}

polystate::Status count_stream(const char* artifact) {
  const auto model = polystate::Model::open(artifact);
  if (!model) return model.error();
  auto session = model->new_session();
  if (!session) return session.error();
  if (const auto status = add(*session, 0, 500); !status) return status;
  return add(*session, 500, 3000);
}

}  // namespace

int main(int argc, char* argv[]) {
  const polystate::Status status = count_stream(argc == 2 ? argv[1] : "");
  if (!status) std::fprintf(stderr, "histogram: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
