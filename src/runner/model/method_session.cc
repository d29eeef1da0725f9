#include "runner/model/method_session.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"

namespace polystate {

MethodSession::MethodSession(const Model& model, Session session)
    : model_(model), session_(std::move(session)) {}

Result<MethodSession> MethodSession::open(const Model& model, const SessionOptions& options) {
  Result<Session> session = model.new_session(options);
  if (!session) return session.error();
  return MethodSession(model, std::move(session).value());
}

Result<std::vector<Tensor>> MethodSession::run(std::string_view method,
                                               std::span<const NamedTensor> inputs) {
  const Result<std::size_t> index = model_.manifest().method_index(method);
  if (!index) return index.error();
  std::vector<Tensor> ordered;
  for (const InputSpec& input : model_.manifest().methods[*index].inputs) {
    const auto found = std::ranges::find(inputs, input.name, &NamedTensor::name);
    assert(found != inputs.end());  // or check_methods refused it
    ordered.push_back(found->tensor);
  }
  Result<std::vector<Tensor>> outputs = session_.run_borrowing(method, ordered);
  if (outputs) return outputs;
  // No sequence outlives a failure, so that nothing is lost.
  if (const Status reset = session_.reset(); !reset) return reset.error();
  return outputs.error();
}

}  // namespace polystate
