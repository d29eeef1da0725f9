#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "runner/request.h"
#include "runner/shared_loops.h"

namespace polystate {

// One call of Runner::generate: requests for its inputs, and the caller's functions, which are
// called on the thread that waits.
class GenerateCall {
 public:
  // Borrows all of them.
  GenerateCall(SharedLoops& loops, const GenerationConfig& default_config,
               const GenerationOptions& options)
      : loops_(loops),
        default_config_(default_config),
        options_(options),
        inbox_(std::make_shared<Inbox>()) {}
  GenerateCall(const GenerateCall&) = delete;
  GenerateCall& operator=(const GenerateCall&) = delete;
  // Cancels what is not over, so that nothing is left that would call back.
  ~GenerateCall();

  // Has the inputs wait for room. Errors as Runner::generate; nothing was started then.
  Status start(std::span<const GenerationInput> inputs);
  // Waits for the results. The first error of an input is that of the call.
  Result<std::vector<GenerationResult>> wait();

 private:
  // Inputs that get the same sequences are one request, of the first of them.
  void connect(std::size_t input);
  void hear_token(std::size_t input, TokenId token);
  void hear_result(std::size_t input, Result<GenerationResult> result);
  void tell_done(std::size_t input);
  void between_steps();
  void stop(const Error& error);

  SharedLoops& loops_;
  const GenerationConfig& default_config_;
  const GenerationOptions& options_;
  std::shared_ptr<Inbox> inbox_;
  std::vector<std::shared_ptr<Request>> requests_;  // of each input
  std::vector<std::vector<std::size_t>> repeats_;   // of each input: the others that are like it
  std::vector<std::size_t> heard_;                  // tokens of each input that its caller heard
  std::vector<bool> has_enough_;                    // inputs whose caller wants no more tokens
  std::vector<GenerationResult> results_;
  std::size_t done_ = 0;
  std::optional<Error> error_;
};

}  // namespace polystate
