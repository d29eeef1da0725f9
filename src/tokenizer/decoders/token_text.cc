#include "tokenizer/decoders/token_text.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace polystate::tokenizer {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string changed;
  std::size_t kept = 0;
  for (; at != std::string::npos; at = text.find(from, kept)) {
    changed.append(text, kept, at - kept);
    changed += to;
    kept = at + from.size();
  }
  changed.append(text, kept);
  text = std::move(changed);
}

void clean_up(std::string& text) {
  using Rule = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Rule, 11> kRules = {{{" .", "."},
                                            {" ?", "?"},
                                            {" !", "!"},
                                            {" ,", ","},
                                            {" ' ", "'"},
                                            {" n't", "n't"},
                                            {" 'm", "'m"},
                                            {" do not", " don't"},
                                            {" 's", "'s"},
                                            {" 've", "'ve"},
                                            {" 're", "'re"}}};
  if (text.find(' ') == std::string::npos) return;
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

}  // namespace polystate::tokenizer
