#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/session/model.h"
#include "runner/request.h"
#include "runner/shared_loops.h"

namespace polystate {

// The runner of artifacts whose constant `runner` is "token_model" (see TokenModel).
class BatchRunner final : public Runner {
 public:
  static Result<std::unique_ptr<Runner>> open(const Model& model);

  Result<std::vector<GenerationResult>> generate(std::span<const GenerationInput> inputs,
                                                 const GenerationOptions& options) override;
  Result<RequestId> submit(GenerationInput input, RequestOptions options) override;
  void cancel(RequestId id) override;
  Result<bool> step() override;
  Result<std::vector<std::byte>> save_kept(const KeptSequence& kept) override;
  Result<KeptSequence> load_kept(std::span<const std::byte> bytes, bool yields) override;

  [[nodiscard]] const GenerationConfig& default_config() const override { return config_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }
  [[nodiscard]] std::int64_t max_source_length() const override {
    const auto& sources = loops_->limits().sources;
    return sources ? sources->max_source_length : 0;
  }
  [[nodiscard]] std::int64_t max_length() const override { return loops_->limits().max_length; }

 private:
  // A thread's stay in `generate` or `step`.
  class Stay;

  BatchRunner(std::unique_ptr<SharedLoops> loops, GenerationConfig config,
              std::vector<std::string> warnings);

  // submit(), which says where memory runs out.
  Result<RequestId> start(GenerationInput input, const RequestOptions& options);

  std::unique_ptr<SharedLoops> loops_;
  GenerationConfig config_;
  std::vector<std::string> warnings_;
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();  // of what is submitted

  std::mutex mutex_;                                         // guards the rest
  std::set<std::thread::id> callers_;                        // threads within `generate` or `step`
  std::map<RequestId, std::shared_ptr<Request>> submitted_;  // and not over
  RequestId last_id_ = 0;
};

}  // namespace polystate
