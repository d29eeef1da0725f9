#include "tokenizer/use_tokenizer.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/staged_tokenizer.h"
#include "tokenizer/stages.h"

namespace polystate {
namespace {

constexpr std::string_view kText =
    "Hello, w\xC3\xB6rld </s> 12  \xE2\x96\x81 \xF0\x9F\x98\x80 \xFF";

Result<std::string> streamed(const Tokenizer& tokenizer, const Encoding& encoding) {
  std::string text;
  const std::unique_ptr<DecodeStream> stream = tokenizer.decode_stream();
  for (const TokenId id : encoding.ids) {
    const Result<std::string> part = stream->push(id);
    if (!part) return part.error();
    text += *part;
  }
  const Result<std::string> rest = stream->finish();
  if (!rest) return rest.error();
  return text + *rest;
}

bool lies_in_text(const TextRange& range) {
  return range.begin <= range.end && range.end <= kText.size();
}

}  // namespace

bool is_typed(const Error& error) {
  return !error.message.empty() && error.code != ErrorCode::kEngine;
}

bool keeps_its_promises(const Result<std::shared_ptr<const Tokenizer>>& tokenizer) {
  if (!tokenizer) return is_typed(tokenizer.error());
  EncodeOptions encode_options;
  encode_options.offsets = true;
  const Result<Encoding> encoding = (*tokenizer)->encode(kText, encode_options);
  if (!encoding) return is_typed(encoding.error());
  if (encoding->offsets.size() != encoding->ids.size() ||
      !std::all_of(encoding->offsets.begin(), encoding->offsets.end(), lies_in_text)) {
    return false;
  }
  const Result<std::string> text = (*tokenizer)->decode(encoding->ids);
  if (!text) return is_typed(text.error());
  if (!is_utf8(*text)) return false;
  const Result<std::string> parts = streamed(**tokenizer, *encoding);
  return parts && *parts == *text;
}

namespace {

Result<std::shared_ptr<const Tokenizer>> made_of(Result<tokenizer::Stages> stages) {
  if (!stages) return stages.error();
  return tokenizer::StagedTokenizer::create(std::move(*stages));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> open_files(const tokenizer::MarianFiles& files) {
  return made_of(tokenizer::parse_marian(files));
}

Result<std::shared_ptr<const Tokenizer>> open_files(const tokenizer::M2M100Files& files) {
  return made_of(tokenizer::parse_m2m100(files));
}

}  // namespace polystate
