#include <algorithm>
#include <charconv>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/decoders/decoders.h"
#include "tokenizer/loaders/base64.h"
#include "tokenizer/loaders/loaders.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"
#include "tokenizer/regex/pattern.h"
#include "tokenizer/regex/regex.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {
namespace {

// Finding the merges of a token takes time that grows with the square of its length.
constexpr std::size_t kMaxTokenBytes = 4096;

Error damaged(std::size_t line, const std::string& why) {
  return {ErrorCode::kArtifact, "line " + std::to_string(line) + ": " + why};
}

// Reads "<base64> <rank>".
Status read_line(std::string_view line, std::size_t number, Vocabulary& vocabulary) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return damaged(number, "there is no rank");
  const auto token = decode_base64(line.substr(0, space));
  if (!token || token->empty()) return damaged(number, "the token is not base64");
  if (token->size() > kMaxTokenBytes) {
    return Error{ErrorCode::kUnsupported, "line " + std::to_string(number) + ": the token has " +
                                              std::to_string(token->size()) +
                                              " bytes; the limit is " +
                                              std::to_string(kMaxTokenBytes)};
  }
  std::string_view digits = line.substr(space + 1);
  if (digits.ends_with('\r')) digits.remove_suffix(1);
  TokenId rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error != std::errc() || end != digits.data() + digits.size())
    return damaged(number, "'" + std::string(digits) + "' is not a rank");
  if (vocabulary.find(*token)) return damaged(number, "the token is there already");
  if (vocabulary.token(rank))
    return damaged(number, "the rank " + std::to_string(rank) + " is there already");
  return vocabulary.add(*token, rank);
}

Result<Vocabulary> read_vocabulary(std::string_view content) {
  Vocabulary vocabulary;
  const auto lines = static_cast<std::size_t>(std::count(content.begin(), content.end(), '\n')) + 1;
  vocabulary.reserve(lines, content.size() / 2);
  for (std::size_t number = 1; !content.empty(); ++number) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    const std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (line.empty() || line == "\r") continue;
    if (const Status read = read_line(line, number, vocabulary); !read) return read.error();
  }
  if (vocabulary.size() == 0) return Error{ErrorCode::kArtifact, "the file has no tokens"};
  return vocabulary;
}

// Two tokens are joined where together they are a token; its rank tells when.
MergeTable make_merges(const Vocabulary& vocabulary) {
  MergeTable merges;
  merges.reserve(3 * vocabulary.size());
  for (TokenId id = 0; id < vocabulary.id_limit(); ++id) {
    const auto token = vocabulary.token(id);
    for (std::size_t i = 1; token && i < token->size(); ++i) {
      const auto left = vocabulary.find(token->substr(0, i));
      if (!left) continue;
      const auto right = vocabulary.find(token->substr(i));
      if (right) merges.add(*left, *right, {id, id});
    }
  }
  return merges;
}

}  // namespace

Result<Stages> parse_tik_token(std::string_view content, const TikTokenOptions& options) {
  Stages stages;
  const Result<Regex> pattern = Regex::compile(options.pattern, RegexSyntax::kFancyRegex);
  if (!pattern) return pattern.error();
  stages.pre_tokenizer = pattern_split(Pattern(*pattern), DelimiterBehavior::kRemoved, true);
  Result<Vocabulary> vocabulary = read_vocabulary(content);
  if (!vocabulary) return vocabulary.error();
  MergeTable merges = make_merges(*vocabulary);
  // Two may have one id, as those of o200k_harmony do.
  for (const auto& [token, id] : options.special_tokens) {
    if (id > Vocabulary::kMaxId || vocabulary->token(id)) {
      return Error{ErrorCode::kContract, "the special token '" + token + "' has the id " +
                                             std::to_string(id) + ", which is taken or over " +
                                             std::to_string(Vocabulary::kMaxId)};
    }
    AddedToken added;
    added.content = token;
    added.special = true;
    added.id = id;
    stages.added_tokens.push_back(std::move(added));
  }
  BpeOptions bpe;
  bpe.unit = BpeUnit::kByte;
  bpe.ignore_merges = true;
  Result<std::unique_ptr<Bpe>> model =
      Bpe::create(std::move(*vocabulary), std::move(merges), std::move(bpe));
  if (!model) return model.error();
  stages.model = std::move(*model);
  stages.decoders.push_back(byte_level_decoder(true));
  return stages;
}

}  // namespace polystate::tokenizer
