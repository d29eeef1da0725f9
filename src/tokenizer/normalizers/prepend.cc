#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/normalizers.h"

namespace polystate::tokenizer {
namespace {

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  Status normalize(AlignedText& text) const override;

 private:
  std::string prefix_;
};

}  // namespace

Status PrependNormalizer::normalize(AlignedText& text) const {
  if (text.text.empty()) return {};
  const std::size_t size = text.text.size();
  rewrite_text(text, [&](TextEdit& edit) {
    edit.put(prefix_, 0);
    edit.keep(0, size);
  });
  return {};
}

std::unique_ptr<const Normalizer> prepend_normalizer(std::string prefix) {
  return std::make_unique<PrependNormalizer>(std::move(prefix));
}

}  // namespace polystate::tokenizer
