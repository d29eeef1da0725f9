#include <memory>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/normalizers.h"
#include "tokenizer/unicode/normal_form.h"

namespace polystate::tokenizer {
namespace {

class UnicodeFormNormalizer : public Normalizer {
 public:
  explicit UnicodeFormNormalizer(UnicodeForm form) : form_(form) {}
  Status normalize(AlignedText& text) const override {
    apply_unicode_form(form_, text);
    return {};
  }

 private:
  UnicodeForm form_;
};

}  // namespace

std::unique_ptr<const Normalizer> unicode_form_normalizer(UnicodeForm form) {
  return std::make_unique<UnicodeFormNormalizer>(form);
}

}  // namespace polystate::tokenizer
