#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "polystate/response/response_template.h"

namespace polystate::response {

// How models write thoughts: between two texts.
struct ThoughtForm {
  std::string_view name;
  std::string_view open;
  std::string_view close;
  // The same as regular expressions, with what is swallowed around them.
  std::string_view open_pattern;
  std::string_view close_pattern;
  // Also texts that have no meaning, such as a header before the content.
  std::string_view skipped_pattern = {};
};

// What a call looks like, where "{name}", "{arguments}", "{id}" and "{index}" stand for its parts,
// and what is around and between calls.
struct WrittenCall {
  std::string_view call = {};
  std::string_view before = {};
  std::string_view between = {};
  std::string_view after = {};
  // Of the arguments, as xgrammar calls it; or "dialect" (CallForm::is_dialect), or "param_xml":
  // <param name="place">Brest</param>.
  std::string_view style = "json";
  // A part of `before` or `call` that texts have where a call begins, and nowhere else. Empty:
  // there is none.
  std::string_view begin = {};
  // What ends a call for the reader, which texts among the arguments must not have.
  std::string_view end = {};
  bool is_single = false;  // whether an answer has one call at most
};

// How models write calls.
struct CallForm {
  // Where name and arguments are.
  enum class Reads : std::uint8_t {
    kObject,  // both in an object
    kList,    // in each object of a list
    kNamed,   // the name in the group `name` of the opening, what follows are the arguments
  };

  std::string_view name;
  // What opens and closes it, as regular expressions; without a closing it goes on up to the end.
  std::string_view open;
  std::string_view close;
  Reads reads = Reads::kObject;
  std::string_view name_key = "name";
  std::string_view arguments_key = "arguments";
  std::string_view id_key = {};  // empty: calls have no id; of kNamed: the group `id`
  // Arguments are tags, with these groups `key` and `value`; empty: JSON. "{before}" and "{after}"
  // stand for the expressions of a ValueSpace.
  std::string_view tag_pattern = {};
  bool is_dialect = false;  // of JSON: names without quotes, and texts between <|"|>
  // A template has this form only where it writes this text, too.
  std::string_view needed = {};

  WrittenCall written = {};
};

// What is around the values of arguments that are tags and is not theirs: expressions, which match
// white space alone. Texts keep all other space; what is no text may have some anyway.
struct ValueSpace {
  std::string before = {};
  std::string after = {};
};

// Those that are known, in the order in which they are tried.
std::span<const ThoughtForm> thought_forms();
std::span<const CallForm> call_forms();

// What reads answers with thoughts and calls of these forms, or without them (nullptr). `space` is
// that of the calls' values. Beyond transformers, it
//  - keeps white space between what is content before thoughts or calls and what is behind them, of
//    one side; the space at the beginning and the end of all content that is next to them goes;
//  - takes a closing within a text of a call's JSON for a part of the text;
//  - takes space away from a value where a schema lists the value without the space.
ResponseTemplate template_of(const ThoughtForm* thoughts, const CallForm* calls,
                             const ValueSpace& space = {});

}  // namespace polystate::response
