#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"
#include "polystate/sampler/stopping_criterion.h"

namespace polystate::python {

// The first exception that a callable of the user's raised during a call, which is raised again
// when the call is over: the library in between knows errors, not exceptions.
class Raised {
 public:
  // Keeps the exception that is being handled; the error with which the library ends the call.
  Error keep();
  void rethrow() const;

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

// A logits processor in Python: called with the row's tokens, a list that grows with the row, the
// row's state and the scores as a writable buffer of float32. The state is what `start` returned
// for the prompt: an object with `advance(token)`, `fork()` and `rewind(count)`, or None if `start`
// is None. Whoever makes or destroys a processor holds the GIL.
class PythonProcessor : public LogitsProcessor {
 public:
  PythonProcessor(pybind11::function function, pybind11::object start,
                  std::shared_ptr<Raised> raised);

  Result<std::unique_ptr<RowState>> start(const TokenContext& context) const override;
  Status process(const TokenContext& context, std::span<float> scores) const override;

 private:
  pybind11::function function_;
  pybind11::object start_;
  std::shared_ptr<Raised> raised_;
};

// A stopping criterion in Python: called with the sequence's tokens; returns whether it ends.
class PythonCriterion : public StoppingCriterion {
 public:
  PythonCriterion(pybind11::function function, std::shared_ptr<Raised> raised);

  Result<bool> is_met(const TokenContext& context) const override;

 private:
  pybind11::function function_;
  std::shared_ptr<Raised> raised_;
};

// A sampler in Python: called with the scores as such a buffer, and seed, sequence and step;
// returns an id.
class PythonSampler : public Sampler {
 public:
  PythonSampler(pybind11::function function, std::shared_ptr<Raised> raised);

  Result<TokenId> sample(std::span<float> scores, const SamplePlace& place) const override;

 private:
  pybind11::function function_;
  std::shared_ptr<Raised> raised_;
};

}  // namespace polystate::python
