#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"

namespace polystate {

// An input of a method, by its name in the manifest.
struct NamedTensor {
  std::string_view name;
  Tensor tensor;
};

// A session of a model whose methods take their inputs by name. After a failure all its state is as
// at first.
class MethodSession {
 public:
  // As Model::new_session.
  static Result<MethodSession> open(const Model& model, const SessionOptions& options);

  // Gives the method those of `inputs` that it has. Its outputs, as Session::run_borrowing.
  Result<std::vector<Tensor>> run(std::string_view method, std::span<const NamedTensor> inputs);

  // Session::read_state_rows and write_state_rows.
  Result<Tensor> read_rows(std::string_view state, std::span<const std::int64_t> rows) {
    return session_.read_state_rows(state, rows);
  }
  Status write_rows(std::string_view state, std::span<const std::int64_t> rows,
                    const Tensor& values) {
    return session_.write_state_rows(state, rows, values);
  }

 private:
  MethodSession(const Model& model, Session session);

  Model model_;
  Session session_;
};

}  // namespace polystate
