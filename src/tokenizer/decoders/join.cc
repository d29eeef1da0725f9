#include <memory>
#include <string_view>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/decoders.h"

namespace polystate::tokenizer {
namespace {

class JoinStage : public DecodeStage {
 public:
  using DecodeStage::DecodeStage;
  void fragment(std::string_view text) override {
    separate();
    next().fragment(text);
  }
  void end_token() override {
    separate();  // a token may be empty
    in_token_ = false;
    first_ = false;
    next().end_token();
  }
  void finish() override {
    first_ = true;
    next().finish();
  }

 private:
  void separate() {
    if (!in_token_ && !first_) next().fragment(" ");
    in_token_ = true;
  }

  bool first_ = true;
  bool in_token_ = false;
};

class FuseStage : public DecodeStage {
 public:
  using DecodeStage::DecodeStage;
  void fragment(std::string_view text) override { next().fragment(text); }
  void end_token() override {}
  void finish() override {
    next().end_token();
    next().finish();
  }
};

class JoinDecoder : public Decoder {
 public:
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
};

class FuseDecoder : public Decoder {
 public:
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
  [[nodiscard]] bool to_bytes(TokenBytes& token) const override {
    token.is_joined = true;
    return true;
  }
};

}  // namespace

std::unique_ptr<DecodeStage> JoinDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<JoinStage>(&next);
}

std::unique_ptr<DecodeStage> FuseDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<FuseStage>(&next);
}

std::unique_ptr<const Decoder> join_decoder() { return std::make_unique<JoinDecoder>(); }

std::unique_ptr<const Decoder> fuse_decoder() { return std::make_unique<FuseDecoder>(); }

}  // namespace polystate::tokenizer
