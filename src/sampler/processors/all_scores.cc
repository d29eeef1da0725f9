// Processors that change every score by itself.

#include <limits>
#include <memory>
#include <span>

#include "polystate/core/result.h"
#include "polystate/sampler/logits_processor.h"
#include "sampler/log_softmax.h"
#include "sampler/processors/processors.h"

namespace polystate::sampler {
namespace {

class RemoveInvalidValues final : public LogitsProcessor {
 public:
  Status process(const TokenContext& /*context*/, std::span<float> scores) const override {
    constexpr float kLargest = std::numeric_limits<float>::max();
    for (float& score : scores) {
      const float number = score == score ? score : 0.0F;
      const float above = number < -kLargest ? -kLargest : number;
      score = above > kLargest ? kLargest : above;
    }
    return {};
  }
};

class Renormalize final : public LogitsProcessor {
 public:
  Status process(const TokenContext& /*context*/, std::span<float> scores) const override {
    return log_softmax(scores);
  }
};

class Temperature final : public LogitsProcessor {
 public:
  explicit Temperature(float temperature) : temperature_(temperature) {}
  Status process(const TokenContext& /*context*/, std::span<float> scores) const override {
    for (float& score : scores) score /= temperature_;
    return {};
  }

 private:
  float temperature_;
};

}  // namespace

Processor remove_invalid_values() { return std::make_shared<RemoveInvalidValues>(); }

Processor renormalize() { return std::make_shared<Renormalize>(); }

Processor temperature(double temperature) {
  return std::make_shared<Temperature>(static_cast<float>(temperature));
}

}  // namespace polystate::sampler
