// The parts of xgrammar's structural tags: JSON texts, as it reads them.

#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace polystate::tag_format {

std::string literal(std::string_view text);
std::string regex(std::string_view pattern);
// Any text that has none of some texts.
std::string text_without(std::initializer_list<std::string_view> excluded);
// Any text that has none of `excluded`, in which some texts are followed by what they have to be.
struct Rule {
  std::string_view begin;
  std::string rest;
};
std::string free_text(const std::vector<Rule>& rules,
                      std::initializer_list<std::string_view> excluded);

std::string optional(std::string_view format);
// Between `least` and `most` times; any number of times: -1.
std::string repeated(std::string_view format, int least, int most);
std::string one_of(const std::vector<std::string>& formats);
// Those that are there (not empty), one after another.
std::string sequence(const std::vector<std::string>& formats);

// The whole.
std::string structural_tag(std::string_view format);

}  // namespace polystate::tag_format
