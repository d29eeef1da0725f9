#include "tokenizer/decoders/decoder.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::tokenizer {

bool Decoder::to_bytes(TokenBytes&) const { return false; }

// Joins all tokens.
class DecodeChain::Sink : public DecodeStage {
 public:
  Sink() : DecodeStage(nullptr) {}
  void fragment(std::string_view text) override { text_ += text; }
  void end_token() override {}
  void finish() override {}
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

DecodeChain::DecodeChain(const std::vector<std::unique_ptr<const Decoder>>& decoders)
    : sink_(std::make_unique<Sink>()), first_(sink_.get()) {
  for (std::size_t i = decoders.size(); i > 0; --i) {
    stages_.push_back(decoders[i - 1]->stage(*first_, status_));
    first_ = stages_.back().get();
  }
}

DecodeChain::~DecodeChain() = default;

Result<std::string> DecodeChain::take() {
  std::string text = sink_->take();
  if (!status_) return std::exchange(status_, {}).error();
  return text;
}

}  // namespace polystate::tokenizer
