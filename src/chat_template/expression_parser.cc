#include "chat_template/expression_parser.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/lexer.h"
#include "chat_template/operators.h"
#include "chat_template/python_text.h"
#include "chat_template/syntax.h"
#include "chat_template/token_stream.h"
#include "chat_template/value.h"

namespace polystate::chat_template {
namespace {

using Kind = Token::Kind;

// Whether an expression may be set.
bool is_target(const Expression* expression) {
  if (dynamic_cast<const Name*>(expression) != nullptr) return true;
  if (dynamic_cast<const AttributeReference*>(expression) != nullptr) return true;
  const auto* const tuple = dynamic_cast<const SequenceLiteral*>(expression);
  if (tuple == nullptr || !tuple->is_tuple) return false;
  for (const ExpressionPointer& element : tuple->elements) {
    if (!is_target(element.get())) return false;
  }
  return true;
}

std::optional<Value> constant_named(std::string_view name) {
  if (name == "true" || name == "True") return Value::boolean(true);
  if (name == "false" || name == "False") return Value::boolean(false);
  if (name == "none" || name == "None") return Value();
  return std::nullopt;
}

// The operator of a product; none where the token is another.
std::optional<BinaryOperator> product_operator(const TokenStream& stream) {
  if (stream.is_operator("*")) return BinaryOperator::kMultiply;
  if (stream.is_operator("/")) return BinaryOperator::kDivide;
  if (stream.is_operator("//")) return BinaryOperator::kFloorDivide;
  if (stream.is_operator("%")) return BinaryOperator::kRemainder;
  return std::nullopt;
}

std::optional<Comparison> comparison_of(std::string_view text) {
  if (text == "==") return Comparison::kEqual;
  if (text == "!=") return Comparison::kNotEqual;
  if (text == "<") return Comparison::kLess;
  if (text == "<=") return Comparison::kLessOrEqual;
  if (text == ">") return Comparison::kGreater;
  if (text == ">=") return Comparison::kGreaterOrEqual;
  return std::nullopt;
}

}  // namespace

template <typename T, typename... Parts>
std::unique_ptr<T> ExpressionParser::make(std::uint32_t line, Parts&&... parts) {
  return whole(std::make_unique<T>(line, std::forward<Parts>(parts)...));
}

template <typename T>
std::unique_ptr<T> ExpressionParser::whole(std::unique_ptr<T> expression) {
  if (stream_.failed()) return expression;  // it may lack parts
  expression->measure_depth();
  if (expression->depth() > kMaxDepth) {
    stream_.fail(expression->line(),
                 "an expression is more than " + std::to_string(kMaxDepth) + " operations deep");
  }
  return expression;
}

ExpressionPointer ExpressionParser::parse(bool with_conditional) {
  ExpressionPointer expression;
  if (++nesting_ > kMaxNesting) {
    stream_.fail("expressions are more than " + std::to_string(kMaxNesting) +
                 " deep in one another");
  } else {
    expression = with_conditional ? parse_conditional() : parse_logical(false);
  }
  --nesting_;
  return expression;
}

ExpressionPointer ExpressionParser::parse_conditional() {
  std::uint32_t line = stream_.line();
  ExpressionPointer expression = parse_logical(false);
  while (stream_.skip_name("if")) {
    auto conditional = std::make_unique<Conditional>(line);
    conditional->then = std::move(expression);
    conditional->test = parse_logical(false);
    if (stream_.skip_name("else")) conditional->otherwise = parse();
    expression = whole(std::move(conditional));
    line = stream_.line();
  }
  return expression;
}

ExpressionPointer ExpressionParser::parse_logical(bool is_and) {
  const auto parse_operand = [&] { return is_and ? parse_not() : parse_logical(true); };
  ExpressionPointer left = parse_operand();
  while (stream_.is_name(is_and ? "and" : "or")) {
    const std::uint32_t line = stream_.take().line;
    left = make<Logical>(line, is_and, std::move(left), parse_operand());
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_not() {
  std::vector<std::uint32_t> lines;
  while (stream_.is_name("not")) lines.push_back(stream_.take().line);
  ExpressionPointer expression = parse_comparisons();
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    expression = make<Not>(*line, std::move(expression));
  return expression;
}

// Takes a comparison's operator; none where there is none.
std::optional<Comparison> ExpressionParser::take_comparison() {
  if (stream_.skip_name("in")) return Comparison::kIn;
  if (stream_.is_name("not") && TokenStream::is_name(stream_.next(), "in")) {
    stream_.take();
    stream_.take();
    return Comparison::kNotIn;
  }
  if (!stream_.is(Kind::kOperator)) return std::nullopt;
  const std::optional<Comparison> op = comparison_of(stream_.current().text);
  if (op) stream_.take();
  return op;
}

ExpressionPointer ExpressionParser::parse_comparisons() {
  const std::uint32_t line = stream_.line();
  ExpressionPointer first = parse_sum();
  std::vector<std::pair<Comparison, ExpressionPointer>> others;
  while (const std::optional<Comparison> op = take_comparison())
    others.emplace_back(*op, parse_sum());
  if (others.empty()) return first;
  auto comparisons = std::make_unique<Comparisons>(line, std::move(first));
  comparisons->others = std::move(others);
  return whole(std::move(comparisons));
}

ExpressionPointer ExpressionParser::parse_sum() {
  ExpressionPointer left = parse_concatenation();
  while (stream_.is_operator("+") || stream_.is_operator("-")) {
    const Token op = stream_.take();
    const auto kind = op.text == "+" ? BinaryOperator::kAdd : BinaryOperator::kSubtract;
    left = make<Binary>(op.line, kind, std::move(left), parse_concatenation());
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_concatenation() {
  const std::uint32_t line = stream_.line();
  ExpressionPointer first = parse_product();
  if (!stream_.is_operator("~")) return first;
  Expressions parts;
  parts.push_back(std::move(first));
  while (stream_.skip_operator("~")) parts.push_back(parse_product());
  return make<Concatenation>(line, std::move(parts));
}

ExpressionPointer ExpressionParser::parse_product() {
  ExpressionPointer left = parse_power();
  while (const std::optional<BinaryOperator> op = product_operator(stream_)) {
    const std::uint32_t line = stream_.take().line;
    left = make<Binary>(line, *op, std::move(left), parse_power());
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_power() {
  ExpressionPointer left = parse_unary();
  while (stream_.is_operator("**")) {
    const std::uint32_t line = stream_.take().line;
    left = make<Binary>(line, BinaryOperator::kPower, std::move(left), parse_unary());
  }
  return left;
}

ExpressionPointer ExpressionParser::parse_unary(bool with_filters) {
  ExpressionPointer expression;
  if (stream_.is_operator("-") || stream_.is_operator("+")) {
    const Token op = stream_.take();
    if (++nesting_ > kMaxNesting) stream_.fail("too many signs before one another");
    ExpressionPointer operand = parse_unary(false);
    --nesting_;
    expression =
        make<Unary>(op.line, op.text == "-" ? UnaryOperator::kNegate : UnaryOperator::kKeep,
                    std::move(operand));
  } else {
    expression = parse_primary();
  }
  expression = parse_postfix(std::move(expression));
  return with_filters ? parse_filters_and_tests(std::move(expression)) : std::move(expression);
}

ExpressionPointer ExpressionParser::parse_primary(bool with_attributes) {
  switch (stream_.current().kind) {
    case Kind::kName:
      return parse_name(with_attributes);
    case Kind::kString:
      return parse_string();
    case Kind::kConstant: {
      const Token token = stream_.take();
      return make<Constant>(token.line, token.number);
    }
    default:
      break;
  }
  if (stream_.skip_operator("(")) {
    ExpressionPointer inner = parse_tuple(true, {}, true);
    stream_.expect_operator(")");
    return inner;
  }
  if (stream_.is_operator("[")) return parse_list();
  if (stream_.is_operator("{")) return parse_dict();
  stream_.fail_expecting("an expression");
  return nullptr;
}

ExpressionPointer ExpressionParser::parse_name(bool with_attributes) {
  const Token token = stream_.take();
  if (const std::optional<Value> constant = constant_named(token.text))
    return make<Constant>(token.line, *constant);
  if (with_attributes && stream_.skip_operator("."))
    return make<AttributeReference>(token.line, token.text, stream_.expect(Kind::kName).text);
  if (token.text == "caller") ++special_reads_.caller;
  if (token.text == "kwargs") ++special_reads_.kwargs;
  if (token.text == "varargs") ++special_reads_.varargs;
  return make<Name>(token.line, token.text);
}

ExpressionPointer ExpressionParser::parse_string() {
  const std::uint32_t line = stream_.line();
  std::string text;
  while (stream_.is(Kind::kString)) text += stream_.take().text;
  strings_.push_back(text);
  return make<Constant>(line, Value::string(text));
}

bool ExpressionParser::is_tuple_end(std::string_view end) const {
  return stream_.is(Kind::kVariableEnd) || stream_.is(Kind::kBlockEnd) ||
         stream_.is_operator(")") || (!end.empty() && stream_.is_name(end));
}

ExpressionPointer ExpressionParser::parse_tuple(bool with_conditional, std::string_view end,
                                                bool in_parentheses) {
  const std::uint32_t line = stream_.line();
  Expressions elements;
  bool is_tuple = false;
  while (!is_tuple_end(end)) {
    elements.push_back(parse(with_conditional));
    if (!stream_.skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !elements.empty()) return std::move(elements[0]);
  if (!is_tuple && !in_parentheses) {
    stream_.fail_expecting("an expression");
    return nullptr;
  }
  return make<SequenceLiteral>(line, true, std::move(elements));
}

ExpressionPointer ExpressionParser::parse_target(bool with_attributes, std::string_view end) {
  const std::uint32_t line = stream_.line();
  Expressions elements;
  bool is_tuple = false;
  while (!is_tuple_end(end)) {
    elements.push_back(parse_primary(with_attributes));
    if (!stream_.skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && elements.empty()) stream_.fail_expecting("an expression");
  if (stream_.failed()) return nullptr;
  ExpressionPointer target =
      is_tuple ? make<SequenceLiteral>(line, true, std::move(elements)) : std::move(elements[0]);
  if (!is_target(target.get())) stream_.fail(line, "can't assign to an expression");
  return target;
}

std::string ExpressionParser::parse_target_name() {
  const Token token = stream_.expect(Kind::kName);
  if (constant_named(token.text)) stream_.fail(token.line, "can't assign to " + quoted(token.text));
  return token.text;
}

ExpressionPointer ExpressionParser::parse_list() {
  const std::uint32_t line = stream_.take().line;
  Expressions elements;
  while (!stream_.failed() && !stream_.is_operator("]")) {
    elements.push_back(parse());
    if (!stream_.skip_operator(",")) break;
  }
  stream_.expect_operator("]");
  return make<SequenceLiteral>(line, false, std::move(elements));
}

ExpressionPointer ExpressionParser::parse_dict() {
  auto dict = std::make_unique<DictLiteral>(stream_.take().line);
  while (!stream_.failed() && !stream_.is_operator("}")) {
    ExpressionPointer key = parse();
    stream_.expect_operator(":");
    dict->entries.emplace_back(std::move(key), parse());
    if (!stream_.skip_operator(",")) break;
  }
  stream_.expect_operator("}");
  return whole(std::move(dict));
}

ExpressionPointer ExpressionParser::parse_postfix(ExpressionPointer of) {
  while (!stream_.failed()) {
    if (stream_.is_operator(".")) {
      of = parse_attribute(std::move(of));
    } else if (stream_.is_operator("[")) {
      of = parse_item(std::move(of));
    } else if (stream_.is_operator("(")) {
      of = parse_call(std::move(of));
    } else {
      break;
    }
  }
  return of;
}

ExpressionPointer ExpressionParser::parse_filters_and_tests(ExpressionPointer of) {
  while (!stream_.failed()) {
    if (stream_.skip_operator("|")) {
      of = parse_filter(std::move(of));
    } else if (stream_.is_name("is")) {
      of = parse_test(std::move(of));
    } else if (stream_.is_operator("(")) {
      of = parse_call(std::move(of));
    } else {
      break;
    }
  }
  return of;
}

ExpressionPointer ExpressionParser::parse_attribute(ExpressionPointer of) {
  const std::uint32_t line = stream_.take().line;
  const Token token = stream_.take();
  if (token.kind == Kind::kName) return make<Attribute>(line, std::move(of), token.text);
  if (token.kind == Kind::kConstant && token.number.is_integer())
    return make<Item>(line, std::move(of), make<Constant>(line, token.number));
  stream_.fail(token.line, "expected name or number");
  return nullptr;
}

ExpressionPointer ExpressionParser::parse_item(ExpressionPointer of) {
  const std::uint32_t line = stream_.take().line;
  if (stream_.is_operator(":")) return parse_slice(line, std::move(of), nullptr);
  Expressions keys;
  bool is_tuple = stream_.is_operator("]");
  while (!stream_.failed() && !stream_.is_operator("]")) {
    keys.push_back(parse());
    if (stream_.is_operator(":")) {
      if (keys.size() == 1) return parse_slice(line, std::move(of), std::move(keys[0]));
      stream_.fail("slices among several subscripts are not supported");
    }
    if (!stream_.skip_operator(",")) break;
    is_tuple = true;
    if (stream_.is_operator("]")) stream_.fail_expecting("an expression");
  }
  stream_.expect_operator("]");
  ExpressionPointer key;
  if (is_tuple) {
    key = make<SequenceLiteral>(line, true, std::move(keys));
  } else if (!keys.empty()) {
    key = std::move(keys[0]);
  }
  return make<Item>(line, std::move(of), std::move(key));
}

ExpressionPointer ExpressionParser::parse_slice(std::uint32_t line, ExpressionPointer of,
                                                ExpressionPointer start) {
  auto slice = std::make_unique<SliceExpression>(line, std::move(of));
  slice->start = std::move(start);
  const auto parse_bound = [this]() -> ExpressionPointer {
    const bool is_given = !stream_.is_operator(":") && !stream_.is_operator("]");
    return is_given ? parse() : nullptr;
  };
  stream_.expect_operator(":");
  slice->stop = parse_bound();
  if (stream_.skip_operator(":")) slice->step = parse_bound();
  if (stream_.is_operator(",")) stream_.fail("slices among several subscripts are not supported");
  stream_.expect_operator("]");
  return whole(std::move(slice));
}

ExpressionPointer ExpressionParser::parse_call(ExpressionPointer of) {
  const std::uint32_t line = stream_.line();
  CallArguments arguments = parse_arguments();
  return make<Call>(line, std::move(of), std::move(arguments));
}

CallArguments ExpressionParser::parse_arguments() {
  const std::uint32_t line = stream_.line();
  CallArguments arguments;
  stream_.expect_operator("(");
  while (!stream_.failed() && !stream_.is_operator(")")) {
    if (!parse_argument(arguments))
      stream_.fail(line, "invalid syntax for function call expression");
    if (!stream_.skip_operator(",")) break;
  }
  stream_.expect_operator(")");
  return arguments;
}

// Reads one argument; false where it may not follow those before.
bool ExpressionParser::parse_argument(CallArguments& arguments) {
  if (stream_.skip_operator("*")) {
    if (arguments.more_positional || arguments.more_named) return false;
    arguments.more_positional = parse();
    return true;
  }
  if (arguments.more_named) return false;
  if (stream_.skip_operator("**")) {
    arguments.more_named = parse();
    return true;
  }
  const bool is_named = stream_.is(Kind::kName) && stream_.next().kind == Kind::kOperator &&
                        stream_.next().text == "=";
  if (is_named) {
    std::string name = stream_.take().text;
    stream_.take();
    arguments.named.emplace_back(std::move(name), parse());
    return true;
  }
  if (arguments.more_positional || !arguments.named.empty()) return false;
  arguments.positional.push_back(parse());
  return true;
}

std::string ExpressionParser::parse_dotted_name() {
  std::string name = stream_.expect(Kind::kName).text;
  while (stream_.skip_operator(".")) name += "." + stream_.expect(Kind::kName).text;
  return name;
}

std::unique_ptr<FilterExpression> ExpressionParser::parse_filter(ExpressionPointer of) {
  const std::uint32_t line = stream_.line();
  std::string name = parse_dotted_name();
  CallArguments arguments;
  if (stream_.is_operator("(")) arguments = parse_arguments();
  return make<FilterExpression>(line, std::move(of), std::move(name), std::move(arguments));
}

std::vector<std::unique_ptr<FilterExpression>> ExpressionParser::parse_filters(bool first_inline) {
  std::vector<std::unique_ptr<FilterExpression>> filters;
  while (first_inline || stream_.skip_operator("|")) {
    first_inline = false;
    filters.push_back(parse_filter(nullptr));
  }
  return filters;
}

ExpressionPointer ExpressionParser::parse_test(ExpressionPointer of) {
  const std::uint32_t line = stream_.take().line;
  const bool is_negated = stream_.skip_name("not");
  std::string name = parse_dotted_name();
  CallArguments arguments;
  const bool begins_value = stream_.is(Kind::kName) || stream_.is(Kind::kString) ||
                            stream_.is(Kind::kConstant) || stream_.is_operator("[") ||
                            stream_.is_operator("{");
  const bool goes_on = stream_.is_name("else") || stream_.is_name("or") || stream_.is_name("and");
  if (stream_.is_operator("(")) {
    arguments = parse_arguments();
  } else if (begins_value && !goes_on) {
    if (stream_.is_name("is")) stream_.fail("You cannot chain multiple tests with is");
    ExpressionPointer argument = parse_primary();
    arguments.positional.push_back(parse_postfix(std::move(argument)));
  }
  ExpressionPointer test =
      make<TestExpression>(line, std::move(of), std::move(name), std::move(arguments));
  return is_negated ? make<Not>(line, std::move(test)) : std::move(test);
}

}  // namespace polystate::chat_template
