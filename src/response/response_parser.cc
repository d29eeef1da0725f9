// As transformers 5.23's utils/chat_parsing/response_parser.py, of which it gives the events and
// the messages. Forms that polystate knows are read with more care (template_of in forms.h).

#include "polystate/response/response_parser.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "chat_template/string_functions.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/utf8.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/response/response_template.h"
#include "response/anchor.h"
#include "response/argument_types.h"
#include "response/call_shape.h"
#include "response/json_body.h"
#include "response/part.h"
#include "response/template.h"

namespace polystate {
namespace {

using chat_template::Dict;
using chat_template::Elements;
using chat_template::Origin;
using chat_template::Value;
using response::AnchorMatch;
using response::Field;
using response::Template;

using Events = std::vector<ResponseEvent>;
using Clock = std::chrono::steady_clock;

// What looking for anchors may take in all.
constexpr std::chrono::seconds kTimeLimit{5};
constexpr std::chrono::microseconds kTimeLimitPerByte{20};
// Openings and closings at no text, which may go on for ever.
constexpr std::size_t kMaxEmptyMatches = 1000;

bool is_empty(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNone:
      return true;
    case Value::Kind::kString:
      return value.text().empty();
    case Value::Kind::kList:
      return value.elements().empty();
    case Value::Kind::kDict:
      return value.dict().size() == 0;
    default:
      return false;
  }
}

// The white space at the beginning and at the end of a text that has something else, too.
std::string_view space_before(std::string_view text) {
  const std::string_view rest = chat_template::stripped(text);
  return rest.empty() ? rest : text.substr(0, static_cast<std::size_t>(rest.data() - text.data()));
}
std::string_view space_after(std::string_view text) {
  const std::string_view rest = chat_template::stripped(text);
  return rest.empty() ? rest : text.substr(space_before(text).size() + rest.size());
}

Error too_slow() {
  return {ErrorCode::kContract, "the response_template's expressions take too long for the answer"};
}

}  // namespace

class ResponseParser::Reader {
 public:
  Reader(ResponseTemplate response_template, ResponseOptions options)
      : template_(std::move(response_template)),
        options_(std::move(options)),
        types_(options_.tools.value()),
        output_(content().defaults),
        current_(content().implicit) {}

  Status read_prefix(std::string_view prefix) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= prefix.size();) {
      const auto found = content().start_anchor.search(prefix, at, false);
      if (!found) return found.error();
      if (!*found) break;
      begin = (*found)->end;
      const bool is_empty_match = (*found)->begin == (*found)->end;
      if (is_empty_match && begin == prefix.size()) break;
      at = begin + (is_empty_match ? character_size(prefix[begin]) : 0);
    }
    buffer_ = prefix.substr(begin);
    return buffer_.empty() ? Status() : process(initial_events_, false);
  }

  Result<Events> feed(std::string_view text) {
    Events events;
    incomplete_ += text;
    const std::string whole = incomplete_.substr(0, complete_prefix(incomplete_));
    incomplete_.erase(0, whole.size());
    if (const Status done = proceed(repaired_utf8(whole), events, false); !done)
      return done.error();
    return events;
  }

  Result<Message> finish() {
    Message message;
    const Status done = proceed(repaired_utf8(incomplete_), message.events, true);
    if (!done) return done.error();
    is_over_ = true;
    for (const Field& field : content().fields) {
      if (field.is_optional || output_.find(field.name) != nullptr) continue;
      return Error{ErrorCode::kContract,
                   "the answer has no '" + field.name + "', which the response_template asks for"};
    }
    Dict kept;
    for (const auto& [name, value] : output_.entries()) {
      if (content().defaults.find(name) != nullptr || !is_empty(value)) kept.set(name, value);
    }
    message.message = TemplateValue(Value::dict(std::move(kept)));
    return message;
  }

  [[nodiscard]] const Events& initial_events() const { return initial_events_; }

 private:
  enum class Side : std::uint8_t { kOpen, kClose };

  // What may come next, and where it does.
  struct Found {
    Side side;
    const Field* field;
    AnchorMatch match;
  };

  [[nodiscard]] const Template& content() const { return template_.content(); }
  [[nodiscard]] Origin origin() const {
    return options_.is_answer ? Origin::kAnswer : Origin::kUser;
  }
  [[nodiscard]] const Field* current() const {
    return current_ ? &content().fields[*current_] : nullptr;
  }

  Status proceed(std::string_view text, Events& events, bool is_end) {
    if (is_over_) return Error{ErrorCode::kContract, "the answer is over"};
    buffer_ += text;
    Status done = process(events, is_end);
    is_over_ = !done;
    return done;
  }

  Status process(Events& events, bool is_end) {
    std::size_t empty_matches = 0;  // one after another
    while (true) {
      std::size_t held = buffer_.size();
      const Result<std::optional<Found>> found = scan(is_end, held);
      if (!found) return found.error();
      if (!*found) {
        take(events, held);
        return is_end ? close_all(events) : Status();
      }
      const bool had_text = is_open_ || (*found)->match.begin > position_;
      const bool is_empty = (*found)->match.begin == (*found)->match.end;
      if (const Status passed = pass(events, **found); !passed) return passed;
      empty_matches = is_empty ? empty_matches + 1 : 0;
      if (empty_matches > kMaxEmptyMatches) return too_slow();
      // The end of a part that is empty, at no text, would be found again.
      if ((*found)->side == Side::kClose && is_empty && !had_text) return {};
    }
  }

  // Takes the text before an opening or closing, and that itself.
  Status pass(Events& events, const Found& found) {
    const AnchorMatch& match = found.match;
    if (match.begin < position_) {  // a closing that was taken for a part of a text
      body_.resize(body_.size() - (position_ - match.begin));
      position_ = match.begin;
    }
    take(events, match.begin);
    const std::string anchor = buffer_.substr(match.begin, match.end - match.begin);
    position_ = match.end;
    if (found.side == Side::kClose) return close(events, anchor);
    if (const Status closed = close(events, {}); !closed) return closed;
    open(events, *found.field, match, anchor);
    return {};
  }

  // At the end. What cannot be read goes on as text, which is closed in turn.
  Status close_all(Events& events) {
    is_at_end_ = true;
    Status closed;
    do closed = close(events, {});
    while (closed && is_open_);
    return closed;
  }

  // The first opening or closing that is certain, of those at one place the longest; `held` is
  // where one begins that more text may complete.
  Result<std::optional<Found>> scan(bool is_end, std::size_t& held) {
    const Clock::time_point start = Clock::now();
    std::optional<Found> best;
    const auto key = [](const Found& found) {
      return std::tuple(found.match.begin, -static_cast<std::ptrdiff_t>(found.match.end),
                        found.side, std::string_view(found.field->name));
    };
    for (const auto& [side, field] : watched()) {
      const std::optional<response::Anchor>& anchor =
          side == Side::kOpen ? field->open : field->close;
      if (!anchor) continue;
      const bool is_of_json = side == Side::kClose && field->content.is_json_of_form();
      Result<std::optional<AnchorMatch>> match = is_of_json
                                                     ? closing_of_json(*anchor, is_end)
                                                     : anchor->search(buffer_, position_, !is_end);
      if (!match) return match.error();
      if (!*match) continue;
      if (!is_certain(*anchor, **match, is_end)) {
        held = std::min(held, (*match)->begin);
        continue;
      }
      Found found{side, field, *std::move(*match)};
      if (!best || key(found) < key(*best)) best = std::move(found);
    }
    taken_ += Clock::now() - start;
    if (taken_ > kTimeLimit + buffer_.size() * kTimeLimitPerByte) return too_slow();
    if (best && best->match.begin >= held) best.reset();
    return best;
  }

  // Whether more text cannot change a match.
  [[nodiscard]] bool is_certain(const response::Anchor& anchor, const AnchorMatch& match,
                                bool is_end) const {
    const bool at_edge = match.end == buffer_.size();
    return is_end || !(match.is_partial || (at_edge && anchor.may_grow(match)));
  }

  // The closing of the call that is open: the first that is not within a text of its JSON. Where
  // that is no JSON, the first of all, which may be before the position.
  Result<std::optional<AnchorMatch>> closing_of_json(const response::Anchor& anchor, bool is_end) {
    for (std::size_t start = position_;;) {
      Result<std::optional<AnchorMatch>> match = anchor.search(buffer_, start, !is_end);
      if (!match) return match;
      const bool is_final = *match ? is_certain(anchor, **match, is_end) : is_end;
      if (!is_final) return match;
      json_.read(buffer_, *match ? (*match)->begin : buffer_.size());
      const bool is_none = in_text_ && !json_.is_whole();
      if (!*match || !json_.is_in_text()) return is_none ? in_text_ : *match;
      if (!in_text_) in_text_ = **match;
      start = std::max((*match)->end, (*match)->begin + 1);
    }
  }

  // What ends the part that is open, or the openings of all.
  [[nodiscard]] std::vector<std::pair<Side, const Field*>> watched() const {
    std::vector<std::pair<Side, const Field*>> all;
    const Field* const open = current();
    if (open != nullptr && current_ != content().implicit) {
      if (open->close) all.emplace_back(Side::kClose, open);
      return all;
    }
    for (const Field& field : content().fields) {
      if (field.open) all.emplace_back(Side::kOpen, &field);
    }
    if (open != nullptr && open->close) all.emplace_back(Side::kClose, open);
    return all;
  }

  // Takes the text up to `end` into the part that is open.
  void take(Events& events, std::size_t end) {
    std::string text = buffer_.substr(position_, end - position_);
    position_ = end;
    add(events, std::move(text));
  }

  void add(Events& events, std::string text) {
    const Field* const field = current();
    if (text.empty() || field == nullptr) return;
    if (is_implicit(*field)) {
      text.insert(0, std::exchange(space_, {}));
      has_text_ = true;
    }
    if (!is_open_) {
      events.push_back({ResponseEvent::Kind::kOpen, field->name});
      is_open_ = true;
    }
    body_ += text;
    events.push_back({ResponseEvent::Kind::kText, field->name, text, !field->content.keeps_text()});
  }

  void open(Events& events, const Field& field, const AnchorMatch& match, std::string anchor) {
    current_ = static_cast<std::size_t>(&field - content().fields.data());
    captures_ = match.captures;
    body_.clear();
    anchor_ = std::move(anchor);
    json_ = response::JsonBody(position_);
    in_text_.reset();
    is_open_ = true;
    events.push_back({ResponseEvent::Kind::kOpen, field.name});
  }

  // Closes the part that is open, if one is; `anchor` is the text that closed it.
  Status close(Events& events, const std::string& anchor) {
    if (!current_ || !is_open_) {
      reset();
      return {};
    }
    const Field& field = *current();
    Result<Value> value = value_of(field);
    const Status kept = value ? keep(field, *value) : Status(value.error());
    if (!kept) {
      if (options_.keeps_malformed) {
        keep_as_text(events, field, anchor_ + body_ + anchor);
        return {};
      }
      return Error{kept.error().code,
                   "the answer's '" + field.name + "' cannot be read: " + kept.error().message};
    }
    events.push_back(
        {ResponseEvent::Kind::kClose, field.name, {}, false, TemplateValue(*std::move(value))});
    if (is_implicit(field)) {
      last_text_ = body_;
      takes_place_ = false;
    } else {
      keep_space(anchor);
    }
    reset();
    return {};
  }

  // Keeps white space that was taken with a part of a form, for text that may follow: what was
  // before the first such part, or the first that was behind one.
  void keep_space(const std::string& anchor) {
    const bool is_of_form =
        content().implicit && content().fields[*content().implicit].content.is_of_form();
    if (!is_of_form || !has_text_ || !space_.empty()) return;
    space_ = space_before(anchor_);
    if (space_.empty()) space_ = space_after(anchor);
  }

  Result<Value> value_of(const Field& field) const {
    if (options_.keeps_malformed && is_at_end_ && field.close && field.content.is_any_part())
      return Error{ErrorCode::kContract, "it is cut"};
    Result<Value> value = response::value_of_part(field, {body_, captures_}, origin());
    if (!value) return value;
    const bool is_of_tags = field.content.is_of_form() && field.content.is_any_part();
    value = types_.read(*value, is_of_tags);
    return options_.keeps_malformed && field.name == "tool_calls" ? response::checked_calls(*value)
                                                                  : value;
  }

  // Puts a value into the message.
  Status keep(const Field& field, const Value& value) {
    const Value name = Value::string(field.name);
    const Value* const before = output_.find(field.name);
    if (field.join) {
      if (!value.is_string()) {
        return Error{ErrorCode::kContract,
                     "'join' needs a text, and this is a " + value.type_name()};
      }
      std::string joined;
      if (before != nullptr && before->is_string())
        joined = std::string(before->bytes()) + *field.join;
      output_.set(name, Value::string(joined.append(value.bytes()), origin()));
    } else if (field.repeats) {
      Elements all;
      if (before != nullptr && before->kind() == Value::Kind::kList) all = before->elements();
      all.push_back(value);
      output_.set(name, Value::list(std::move(all)));
    } else if (const bool is_added = has_malformed_ && !takes_place_ && is_implicit(field) &&
                                     value.is_string() && before != nullptr && before->is_string();
               is_added) {
      const std::string joined = std::string(before->bytes()).append(value.bytes());
      output_.set(name, Value::string(joined, origin()));
    } else {
      output_.set(name, value);
    }
    return {};
  }

  [[nodiscard]] bool is_implicit(const Field& field) const {
    return content().implicit && &field == &content().fields[*content().implicit];
  }

  // What cannot be read goes on as a part of the text around it.
  void keep_as_text(Events& events, const Field& unread, const std::string& text) {
    reset();
    has_malformed_ = true;
    const Field* const field = current();
    if (field == nullptr || field == &unread || !field->content.keeps_text()) {
      const Value* const before = output_.find("content");
      std::string all =
          before != nullptr && before->is_string() ? std::string(before->bytes()) : "";
      output_.set(Value::string("content"), Value::string(all.append(text), origin()));
      events.push_back({ResponseEvent::Kind::kText, "content", text});
      return;
    }
    if (!last_text_.empty() && !field->join) {
      body_ = std::exchange(last_text_, {});
      is_open_ = takes_place_ = true;
      events.push_back({ResponseEvent::Kind::kOpen, field->name});
    }
    add(events, text);
  }

  void reset() {
    current_ = content().implicit;
    captures_.clear();
    body_.clear();
    anchor_.clear();
    is_open_ = false;
  }

  ResponseTemplate template_;
  ResponseOptions options_;
  response::ArgumentTypes types_;
  std::string incomplete_;  // the beginning of a character
  std::string buffer_;
  std::size_t position_ = 0;
  Dict output_;
  std::optional<std::size_t> current_;  // the field of the part that is open
  std::vector<std::pair<std::string, std::string>> captures_;
  std::string body_;
  std::string anchor_;  // the text that opened it
  // Of JSON: what was read of it, and the first closing that was within a text.
  response::JsonBody json_;
  std::optional<AnchorMatch> in_text_;
  bool is_open_ = false;
  bool has_text_ = false;  // whether there was any that is in no other part
  std::string space_;      // to be put before such text
  // Where parts are kept as text: whether one was; what the last part without an opening had, and
  // whether the one that is open has it, too.
  bool has_malformed_ = false;
  std::string last_text_;
  bool takes_place_ = false;
  bool is_at_end_ = false;
  bool is_over_ = false;
  Clock::duration taken_{};
  Events initial_events_;
};

ResponseParser::ResponseParser(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {}
ResponseParser::~ResponseParser() = default;
ResponseParser::ResponseParser(ResponseParser&& other) noexcept = default;
ResponseParser& ResponseParser::operator=(ResponseParser&& other) noexcept = default;

Result<ResponseParser> ResponseParser::start(ResponseTemplate response_template,
                                             std::string_view prefix, ResponseOptions options) {
  auto reader = std::make_unique<Reader>(std::move(response_template), std::move(options));
  if (const Status read = reader->read_prefix(repaired_utf8(prefix)); !read) return read.error();
  return ResponseParser(std::move(reader));
}

const std::vector<ResponseEvent>& ResponseParser::initial_events() const {
  return reader_->initial_events();
}

Result<std::vector<ResponseEvent>> ResponseParser::feed(std::string_view text) {
  return reader_->feed(text);
}

Result<ResponseParser::Message> ResponseParser::finish() { return reader_->finish(); }

Result<TemplateValue> parse_response(const ResponseTemplate& response_template,
                                     std::string_view answer, std::string_view prefix,
                                     const ResponseOptions& options) {
  Result<ResponseParser> parser = ResponseParser::start(response_template, prefix, options);
  if (!parser) return parser.error();
  if (const auto events = parser->feed(answer); !events) return events.error();
  Result<ResponseParser::Message> message = parser->finish();
  if (!message) return message.error();
  return std::move(message->message);
}

}  // namespace polystate
