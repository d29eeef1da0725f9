#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/syntax.h"
#include "chat_template/token_stream.h"

namespace polystate::chat_template {

// Reads expressions as jinja2's parser does (parser.py). After an error an expression may lack
// parts, and is of no use.
class ExpressionParser {
 public:
  // Of expressions in one another: in brackets, and as trees that operators make.
  static constexpr int kMaxNesting = 100;
  static constexpr std::uint32_t kMaxDepth = 400;

  explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

  ExpressionPointer parse(bool with_conditional = true);
  // Expressions that commas make a tuple, up to the end of the tag, to "recursive" or `end`.
  ExpressionPointer parse_tuple(bool with_conditional = true, std::string_view end = {},
                                bool in_parentheses = false);
  // What may be set, a tuple too; `with_attributes`: of a namespace.
  ExpressionPointer parse_target(bool with_attributes, std::string_view end = {});
  // Filters behind one another, the first after a "|" unless `first_inline`.
  std::vector<std::unique_ptr<FilterExpression>> parse_filters(bool first_inline);
  // The name of a variable that is set.
  std::string parse_target_name();

  // The strings in all expressions so far.
  [[nodiscard]] const std::vector<std::string>& strings() const { return strings_; }
  // How often a name was read so far; of `caller`, `kwargs` and `varargs` alone.
  struct SpecialReads {
    std::size_t caller = 0;
    std::size_t kwargs = 0;
    std::size_t varargs = 0;
  };
  [[nodiscard]] const SpecialReads& special_reads() const { return special_reads_; }

 private:
  template <typename T, typename... Parts>
  std::unique_ptr<T> make(std::uint32_t line, Parts&&... parts);
  template <typename T>
  std::unique_ptr<T> whole(std::unique_ptr<T> expression);

  ExpressionPointer parse_conditional();
  ExpressionPointer parse_logical(bool is_and);
  ExpressionPointer parse_not();
  ExpressionPointer parse_comparisons();
  std::optional<Comparison> take_comparison();
  ExpressionPointer parse_sum();
  ExpressionPointer parse_concatenation();
  ExpressionPointer parse_product();
  ExpressionPointer parse_power();
  ExpressionPointer parse_unary(bool with_filters = true);
  ExpressionPointer parse_primary(bool with_attributes = false);
  ExpressionPointer parse_name(bool with_attributes);
  ExpressionPointer parse_string();
  ExpressionPointer parse_list();
  ExpressionPointer parse_dict();
  ExpressionPointer parse_postfix(ExpressionPointer of);
  ExpressionPointer parse_filters_and_tests(ExpressionPointer of);
  ExpressionPointer parse_attribute(ExpressionPointer of);
  ExpressionPointer parse_item(ExpressionPointer of);
  ExpressionPointer parse_slice(std::uint32_t line, ExpressionPointer of, ExpressionPointer start);
  ExpressionPointer parse_call(ExpressionPointer of);
  CallArguments parse_arguments();
  bool parse_argument(CallArguments& arguments);
  std::unique_ptr<FilterExpression> parse_filter(ExpressionPointer of);
  ExpressionPointer parse_test(ExpressionPointer of);
  std::string parse_dotted_name();
  [[nodiscard]] bool is_tuple_end(std::string_view end) const;

  TokenStream& stream_;
  int nesting_ = 0;
  std::vector<std::string> strings_;
  SpecialReads special_reads_;
};

}  // namespace polystate::chat_template
