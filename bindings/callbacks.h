#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

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

// An object of Python's that any thread may let go, whether it holds the GIL or not: the loops keep
// functions of a caller's until their rows are gone, which may be after the caller has its result.
template <typename Object>
class Held {
 public:
  // Where the GIL is held.
  explicit Held(Object object) : object_(std::move(object)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  // Where the interpreter is going away, the thread waits for the end of the process, as in
  // GilReleased.
  ~Held() {
    try {
      const pybind11::gil_scoped_acquire gil;
      object_.release().dec_ref();
    } catch (...) {
      for (;;) ::pause();
    }
  }

  // Where the GIL is held.
  const Object& operator*() const { return object_; }
  const Object* operator->() const { return &object_; }
  Object* operator->() { return &object_; }

 private:
  Object object_;
};

// A logits processor in Python: called with the row's tokens, a list that grows with the row, the
// row's state and the scores as a writable buffer of float32. The state is what `start` returned
// for the prompt: an object with `advance(token)`, `fork()` and `rewind(count)`, or None if `start`
// is None. The GIL is held to make one, and to make the criteria and samplers below.
class PythonProcessor : public LogitsProcessor {
 public:
  PythonProcessor(pybind11::function function, pybind11::object start,
                  std::shared_ptr<Raised> raised);

  Result<std::unique_ptr<RowState>> start(const TokenContext& context) const override;
  Status process(const TokenContext& context, std::span<float> scores) const override;

 private:
  Held<pybind11::function> function_;
  Held<pybind11::object> start_;
  std::shared_ptr<Raised> raised_;
};

// A stopping criterion in Python: called with the sequence's tokens; returns whether it ends.
class PythonCriterion : public StoppingCriterion {
 public:
  PythonCriterion(pybind11::function function, std::shared_ptr<Raised> raised);

  Result<bool> is_met(const TokenContext& context) const override;

 private:
  Held<pybind11::function> function_;
  std::shared_ptr<Raised> raised_;
};

// A sampler in Python: called with the scores as such a buffer, and seed, sequence and step;
// returns an id.
class PythonSampler : public Sampler {
 public:
  PythonSampler(pybind11::function function, std::shared_ptr<Raised> raised);

  Result<TokenId> sample(std::span<float> scores, const SamplePlace& place) const override;

 private:
  Held<pybind11::function> function_;
  std::shared_ptr<Raised> raised_;
};

}  // namespace polystate::python
