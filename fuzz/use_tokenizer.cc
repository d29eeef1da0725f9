#include "use_tokenizer.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "polystate/text/decode_stream.h"
#include "polystate/text/encoding.h"
#include "polystate/text/tokenizer.h"

namespace polystate {
namespace {

constexpr std::string_view kText = "Hello, w\xC3\xB6rld </s> 12  \xE2\x96\x81 \xF0\x9F\x98\x80 \xFF";

void check(bool holds) {
  if (!holds) std::abort();
}

std::string streamed(const Tokenizer& tokenizer, const Encoding& encoding) {
  std::string text;
  DecodeStream stream = tokenizer.decode_stream();
  for (const TokenId id : encoding.ids) text += stream.push(id).value();
  return text + stream.finish().value();
}

}  // namespace

void use_tokenizer(TokenizerFormat format, std::string_view content,
                   const TokenizerOptions& options) {
  const Result<Tokenizer> tokenizer = Tokenizer::parse(format, content, options);
  if (!tokenizer) return;
  EncodeOptions encode_options;
  encode_options.offsets = true;
  const Result<Encoding> encoding = tokenizer->encode(kText, encode_options);
  if (!encoding) return;
  check(encoding->offsets.size() == encoding->ids.size());
  for (const ByteRange& range : encoding->offsets)
    check(range.begin <= range.end && range.end <= kText.size());
  const Result<std::string> text = tokenizer->decode(encoding->ids);
  if (text) check(streamed(*tokenizer, *encoding) == *text);
}

}  // namespace polystate
