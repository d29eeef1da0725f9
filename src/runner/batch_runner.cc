#include "runner/batch_runner.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/out_of_memory.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/session/model.h"
#include "runner/generate_call.h"
#include "runner/generation_loop.h"
#include "runner/request.h"
#include "runner/sequence_length.h"
#include "runner/shared_loops.h"

namespace polystate {
namespace {

constexpr const char* kConfigFile = "generation_config.json";

// What generation_config.json says; the defaults where there is none. `warnings` receives a
// sentence for each field that has no effect.
Result<GenerationConfig> read_config(const Artifact& artifact, std::vector<std::string>& warnings) {
  if (!artifact.manifest().files.contains(kConfigFile)) return GenerationConfig();
  const auto file = artifact.read(kConfigFile);
  if (!file) return file.error();
  const auto bytes = (*file)->bytes();
  std::vector<std::string> sentences;
  Result<GenerationConfig> config = GenerationConfig::parse(
      {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, &sentences);
  for (const std::string& sentence : sentences)
    warnings.push_back(std::string(kConfigFile) + ": " + sentence);
  if (config) return config;
  return Error{config.error().code, std::string(kConfigFile) + ": " + config.error().message};
}

}  // namespace

class BatchRunner::Stay {
 public:
  explicit Stay(BatchRunner& runner) : runner_(runner) {
    const std::lock_guard lock(runner_.mutex_);
    is_first_ = runner_.callers_.insert(std::this_thread::get_id()).second;
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  ~Stay() {
    if (!is_first_) return;
    const std::lock_guard lock(runner_.mutex_);
    runner_.callers_.erase(std::this_thread::get_id());
  }

  // kBusy where the thread is in such a call already, whose end it would wait for.
  [[nodiscard]] Status status() const {
    if (is_first_) return {};
    return Error{ErrorCode::kBusy,
                 "this runner is calling this function; it can generate when that has returned"};
  }

 private:
  BatchRunner& runner_;
  bool is_first_;
};

BatchRunner::BatchRunner(std::unique_ptr<SharedLoops> loops, GenerationConfig config,
                         std::vector<std::string> warnings)
    : loops_(std::move(loops)), config_(std::move(config)), warnings_(std::move(warnings)) {
  fit_lengths(config_, max_length(), warnings_);
}

Result<std::unique_ptr<Runner>> BatchRunner::open(const Model& model) {
  std::vector<std::string> warnings;
  Result<GenerationConfig> config = read_config(model.artifact(), warnings);
  if (!config) return config.error();
  auto loops = SharedLoops::open(model);
  if (!loops) return loops.error();
  return std::unique_ptr<Runner>(
      new BatchRunner(std::move(*loops), std::move(*config), std::move(warnings)));
}

Result<std::vector<GenerationResult>> BatchRunner::generate(std::span<const GenerationInput> inputs,
                                                            const GenerationOptions& options) {
  return or_out_of_memory("generate", "", [&]() -> Result<std::vector<GenerationResult>> {
    const Stay stay(*this);
    if (const Status first = stay.status(); !first) return first.error();
    GenerateCall call(*loops_, config_, options);
    if (const Status started = call.start(inputs); !started) return started.error();
    return call.wait();
  });
}

Result<RequestId> BatchRunner::submit(GenerationInput input, RequestOptions options) {
  return or_out_of_memory("generate", "", [&] { return start(std::move(input), options); });
}

Result<RequestId> BatchRunner::start(GenerationInput input, const RequestOptions& options) {
  Result<RequestMaker> maker = RequestMaker::create(options.config.value_or(config_),
                                                    callers_part_of(options), loops_->limits());
  if (!maker) return maker.error();
  auto made = maker->make(std::move(input), 0, "the request");
  if (!made) return made.error();
  const std::shared_ptr<Request> request = std::move(*made);
  const std::lock_guard lock(mutex_);
  const RequestId id = ++last_id_;
  std::function<void(TokenId)> on_token;
  if (options.on_token != nullptr) {
    on_token = [request = request.get(), heard = options.on_token](TokenId token) {
      if (request->end() == Request::End::kNone && !heard(token)) {
        request->end(Request::End::kAsItIs);
      }
    };
  }
  loops_->connect(*request, inbox_, std::move(on_token),
                  [this, id, heard = options.on_done](Result<GenerationResult> result) {
                    {
                      const std::lock_guard guard(mutex_);
                      submitted_.erase(id);
                    }
                    if (heard != nullptr) heard(std::move(result));
                  });
  const auto place = submitted_.emplace(id, request).first;
  const Status pushed = or_out_of_memory("generate", "", [&]() -> Status {
    loops_->push(*inbox_, {request});
    return {};
  });
  if (pushed) return id;
  submitted_.erase(place);
  return pushed.error();
}

void BatchRunner::cancel(RequestId id) {
  std::vector<std::shared_ptr<Request>> requests;
  {
    const std::lock_guard lock(mutex_);
    const auto found = submitted_.find(id);
    if (found == submitted_.end()) return;
    requests.push_back(found->second);
  }
  loops_->end(requests);
}

Result<bool> BatchRunner::step() {
  return or_out_of_memory("generate", "", [&]() -> Result<bool> {
    const Stay stay(*this);
    if (const Status first = stay.status(); !first) return first.error();
    (void)loops_->hear(*inbox_);
    if (!loops_->is_waiting(*inbox_)) return false;
    loops_->advance(*inbox_, /*between_steps=*/nullptr);
    (void)loops_->hear(*inbox_);
    return loops_->is_waiting(*inbox_);
  });
}

Result<std::vector<std::byte>> BatchRunner::save_kept(const KeptSequence& kept) {
  return or_out_of_memory("save a kept sequence", "", [&]() -> Result<std::vector<std::byte>> {
    const Stay stay(*this);
    if (const Status first = stay.status(); !first) return first.error();
    std::optional<Result<std::vector<std::byte>>> saved;
    loops_->use_keeping_loop([&](GenerationLoop& loop) { saved = loop.save_kept(kept); });
    return *std::move(saved);
  });
}

Result<KeptSequence> BatchRunner::load_kept(std::span<const std::byte> bytes, bool yields) {
  return or_out_of_memory("load a kept sequence", "", [&]() -> Result<KeptSequence> {
    const Stay stay(*this);
    if (const Status first = stay.status(); !first) return first.error();
    std::optional<Result<KeptSequence>> loaded;
    loops_->use_keeping_loop([&](GenerationLoop& loop) { loaded = loop.load_kept(bytes, yields); });
    return *std::move(loaded);
  });
}

}  // namespace polystate
