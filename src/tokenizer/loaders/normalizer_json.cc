#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_cursor.h"
#include "polystate/core/result.h"
#include "tokenizer/loaders/base64.h"
#include "tokenizer/loaders/tokenizer_json_parts.h"
#include "tokenizer/normalizers/charsmap.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/normalizers.h"
#include "tokenizer/unicode/normal_form.h"

namespace polystate::tokenizer {
namespace {

using Made = std::unique_ptr<const Normalizer>;

Made make_bert(const JsonCursor& json) {
  BertOptions options;
  options.clean_text = json["clean_text"].boolean();
  options.handle_chinese_chars = json["handle_chinese_chars"].boolean();
  options.lowercase = json["lowercase"].boolean();
  options.strip_accents = json.boolean("strip_accents", options.lowercase);
  return bert_normalizer(options);
}

Made make_precompiled(const JsonCursor& json) {
  const JsonCursor field = json["precompiled_charsmap"];
  const auto blob = decode_base64(field.string());
  if (!blob) {
    field.fail("it is not base64");
    return nullptr;
  }
  Result<Charsmap> map = Charsmap::parse(*blob);
  if (!map) {
    field.fail(map.error());
    return nullptr;
  }
  return precompiled_normalizer(std::move(*map));
}

Made make_replace(const JsonCursor& json) {
  auto pattern = read_pattern(json["pattern"]);
  std::string content = json["content"].string();
  if (!pattern) return nullptr;
  return replace_normalizer(std::move(*pattern), std::move(content));
}

Made make_sequence(const JsonCursor& json) {
  std::vector<Made> parts;
  for (const JsonCursor& part : json["normalizers"].elements())
    parts.push_back(read_normalizer(part));
  return std::make_unique<NormalizerSequence>(std::move(parts));
}

template <Made (*kMake)()>
Made make_plain(const JsonCursor&) {
  return kMake();
}

template <UnicodeForm kForm>
Made make_form(const JsonCursor&) {
  return unicode_form_normalizer(kForm);
}

Made make_strip(const JsonCursor& json) {
  return strip_normalizer(json["strip_left"].boolean(), json["strip_right"].boolean());
}

Made make_prepend(const JsonCursor& json) { return prepend_normalizer(json["prepend"].string()); }

}  // namespace

std::unique_ptr<const Normalizer> read_normalizer(const JsonCursor& json) {
  using Maker = Made (*)(const JsonCursor&);
  static const std::map<std::string_view, Maker> kMakers = {
      {"BertNormalizer", make_bert},
      {"ByteLevel", make_plain<byte_level_normalizer>},
      {"Lowercase", make_plain<lowercase_normalizer>},
      {"NFC", make_form<UnicodeForm::kNfc>},
      {"NFD", make_form<UnicodeForm::kNfd>},
      {"NFKC", make_form<UnicodeForm::kNfkc>},
      {"NFKD", make_form<UnicodeForm::kNfkd>},
      {"Nmt", make_plain<nmt_normalizer>},
      {"Precompiled", make_precompiled},
      {"Prepend", make_prepend},
      {"Replace", make_replace},
      {"Sequence", make_sequence},
      {"Strip", make_strip},
      {"StripAccents", make_plain<strip_accents_normalizer>},
  };
  const std::string type = json["type"].string();
  const auto maker = kMakers.find(type);
  if (maker == kMakers.end()) {
    json.fail("the normalizer '" + type + "' is not known", ErrorCode::kUnsupported);
    return nullptr;
  }
  return maker->second(json);
}

}  // namespace polystate::tokenizer
