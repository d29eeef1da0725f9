#include "pipeline/chat_prompt.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/chat_parts.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate {
namespace {

// Where an answer is in a text.
struct Place {
  ByteRange range;
  std::span<const TokenId> ids;
};

// Whether a part of the text has anything in it that is neither the template's nor an answer's.
bool has_users(const RenderedText& text, ByteRange part) {
  std::size_t not_the_templates = 0;
  std::size_t of_answers = 0;
  const auto common = [part](const ByteRange& range) {
    const std::size_t begin = std::max(range.begin, part.begin);
    return std::max(begin, std::min(range.end, part.end)) - begin;
  };
  for (const ByteRange& range : text.users) not_the_templates += common(range);
  for (const ByteRange& range : text.answers) of_answers += common(range);
  return not_the_templates != of_answers;
}

// Finds answers in a rendered conversation, one after another.
class AnswerFinder {
 public:
  explicit AnswerFinder(const RenderedText& text) : text_(text) {}

  // The place of an answer behind those found before: its text around a part that came from one.
  std::optional<ByteRange> find(std::string_view answer) {
    for (std::size_t i = next_; i < text_.answers.size(); ++i) {
      const std::optional<ByteRange> found = find_around(text_.answers[i], answer);
      if (!found) continue;
      end_ = found->end;
      while (next_ < text_.answers.size() && text_.answers[next_].begin < end_) ++next_;
      return found;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<ByteRange> find_around(ByteRange part,
                                                     std::string_view answer) const {
    const std::string_view all = text_.text;
    const std::string_view from_answer = all.substr(part.begin, part.end - part.begin);
    for (std::size_t before = answer.find(from_answer); before != std::string_view::npos;
         before = answer.find(from_answer, before + 1)) {
      if (part.begin < end_ + before) break;
      const ByteRange range = {part.begin - before, part.begin - before + answer.size()};
      if (all.substr(range.begin).starts_with(answer) && !has_users(text_, range)) return range;
    }
    return std::nullopt;
  }

  const RenderedText& text_;
  std::size_t next_ = 0;  // of the parts that came from answers
  std::size_t end_ = 0;   // of the answer that was found last
};

// Appends the ids of parts of a rendered conversation, as they are within the whole.
class PartEncoder {
 public:
  static Result<PartEncoder> create(const ChatEncoder& encoder, const RenderedChat& chat) {
    PartEncoder parts(encoder, chat);
    const ByteRange whole = {0, chat.text.text.size()};
    auto encoding =
        encode_chat_part(encoder.tokenizer, encoder.templates, chat, whole, encoder.sanitize);
    if (!encoding) return encoding.error();
    parts.whole_ = std::move(*encoding);
    return parts;
  }

  Status append(ByteRange part, std::vector<TokenId>& ids) const {
    if (part.begin >= part.end) return {};
    const std::optional<std::size_t> first = token_at(part.begin);
    const std::optional<std::size_t> last = token_at(part.end);
    if (first && last) {
      ids.insert(ids.end(), whole_.ids.begin() + static_cast<std::ptrdiff_t>(*first),
                 whole_.ids.begin() + static_cast<std::ptrdiff_t>(*last));
      return {};
    }
    const auto alone =
        encode_chat_part(encoder_.tokenizer, encoder_.templates, chat_, part, encoder_.sanitize);
    if (!alone) return alone.error();
    ids.insert(ids.end(), alone->ids.begin(), alone->ids.end());
    return {};
  }

 private:
  PartEncoder(const ChatEncoder& encoder, const RenderedChat& chat)
      : encoder_(encoder), chat_(chat) {}

  // The number of the token that begins at a position, where those before it end there; nothing
  // where a token reaches over it.
  [[nodiscard]] std::optional<std::size_t> token_at(std::size_t position) const {
    const auto found = std::ranges::upper_bound(whole_.offsets, position, {}, &TextRange::end);
    if (found != whole_.offsets.end() && found->begin < position) return std::nullopt;
    return static_cast<std::size_t>(found - whole_.offsets.begin());
  }

  const ChatEncoder& encoder_;
  const RenderedChat& chat_;
  Encoding whole_;
};

}  // namespace

Result<ChatPrompt> make_chat_prompt(const ChatEncoder& encoder, const RenderedChat& chat,
                                    std::span<const GeneratedAnswer> answers) {
  std::vector<Place> places;
  AnswerFinder finder(chat.text);
  ChatPrompt prompt;
  for (const GeneratedAnswer& answer : answers) {
    if (answer.text.empty()) continue;
    if (const std::optional<ByteRange> range = finder.find(answer.text)) {
      places.push_back({*range, answer.ids});
    } else {
      ++prompt.encoded_again;
    }
  }
  const Result<PartEncoder> parts = PartEncoder::create(encoder, chat);
  if (!parts) return parts.error();
  std::size_t done = 0;
  for (const Place& place : places) {
    if (const Status added = parts->append({done, place.range.begin}, prompt.ids); !added)
      return added.error();
    prompt.ids.insert(prompt.ids.end(), place.ids.begin(), place.ids.end());
    done = place.range.end;
  }
  if (const Status added = parts->append({done, chat.text.text.size()}, prompt.ids); !added)
    return added.error();
  return prompt;
}

}  // namespace polystate
