#include "chat_template/parser.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "chat_template/expression_parser.h"
#include "chat_template/lexer.h"
#include "chat_template/python_text.h"
#include "chat_template/statements.h"
#include "chat_template/syntax.h"
#include "chat_template/token_stream.h"
#include "polystate/core/result.h"

namespace polystate::chat_template {
namespace {

using Kind = Token::Kind;
using EndTags = std::initializer_list<std::string_view>;

constexpr int kMaxNesting = 100;  // of statements in one another

// Reads statements as jinja2's parser does (parser.py).
class StatementParser {
 public:
  StatementParser(TokenStream& stream, Template& parsed)
      : stream_(stream), expressions_(stream), parsed_(parsed) {}

  void run() {
    parsed_.body = parse_body({});
    const std::vector<std::string>& strings = expressions_.strings();
    parsed_.texts.insert(parsed_.texts.end(), strings.begin(), strings.end());
  }

 private:
  using Parse = std::unique_ptr<Statement> (StatementParser::*)();

  // Reads statements up to the tag of one of `ends`, whose name is then the current token; up to
  // the end of the template where there are none.
  Body parse_body(EndTags ends) {
    Body body;
    if (++nesting_ > kMaxNesting) {
      stream_.fail("statements are more than " + std::to_string(kMaxNesting) +
                   " deep in one another");
    }
    while (!stream_.is(Kind::kEnd)) {
      const Token token = stream_.take();
      if (token.kind == Kind::kData) {
        parsed_.texts.push_back(token.text);
        body.add(std::make_unique<Data>(token.line, token.text));
      } else if (token.kind == Kind::kVariableBegin) {
        body.add(std::make_unique<Output>(token.line, expressions_.parse_tuple()));
        stream_.expect(Kind::kVariableEnd);
      } else {
        const bool ends_here = std::ranges::any_of(
            ends, [this](std::string_view end) { return stream_.is_name(end); });
        if (ends_here) break;
        add_statement(body);
        stream_.expect(Kind::kBlockEnd);
      }
    }
    if (ends.size() > 0 && stream_.is(Kind::kEnd)) fail_at_end(ends);
    --nesting_;
    return body;
  }

  void fail_at_end(EndTags ends) {
    std::string tags;
    for (const std::string_view end : ends) tags += (tags.empty() ? "" : " or ") + quoted(end);
    stream_.fail("Unexpected end of template. Jinja was looking for the following tags: " + tags);
  }

  // Reads a body behind the tag that begins it, and the end tag's name.
  Body parse_block(EndTags ends) {
    stream_.skip_operator(":");
    stream_.expect(Kind::kBlockEnd);
    return parse_body(ends);
  }

  Body parse_block_to(std::string_view end) {
    Body body = parse_block({end});
    stream_.expect_name(end);
    return body;
  }

  void add_statement(Body& body) {
    const Token token = stream_.current();
    if (token.kind != Kind::kName) return stream_.fail("tag name expected");
    static constexpr auto kStatements = std::to_array<std::pair<std::string_view, Parse>>({
        {"for", &StatementParser::parse_for},
        {"if", &StatementParser::parse_if},
        {"set", &StatementParser::parse_set},
        {"macro", &StatementParser::parse_macro},
        {"call", &StatementParser::parse_call_block},
        {"filter", &StatementParser::parse_filter_block},
        {"with", &StatementParser::parse_with},
        {"generation", &StatementParser::parse_generation},
        {"break", &StatementParser::parse_jump},
        {"continue", &StatementParser::parse_jump},
        {"block", &StatementParser::parse_named_block},
        {"autoescape", &StatementParser::parse_autoescape},
        {"extends", &StatementParser::parse_extends},
        {"include", &StatementParser::parse_include},
        {"import", &StatementParser::parse_import},
        {"from", &StatementParser::parse_from},
    });
    if (token.text == "print") return add_outputs(body);
    const auto* const found = std::ranges::find(kStatements, std::string_view(token.text),
                                                &std::pair<std::string_view, Parse>::first);
    if (found == kStatements.end())
      return stream_.fail("Encountered unknown tag " + quoted(token.text) + ".");
    std::unique_ptr<Statement> statement = (this->*found->second)();
    if (!stream_.failed()) body.add(std::move(statement));
  }

  // {% print a, b %}
  void add_outputs(Body& body) {
    const std::uint32_t line = stream_.take().line;
    while (!stream_.failed() && !stream_.is(Kind::kBlockEnd)) {
      body.add(std::make_unique<Output>(line, expressions_.parse()));
      if (!stream_.is(Kind::kBlockEnd)) stream_.expect_operator(",");
    }
  }

  // Refuses to set `loop` in a loop.
  void check_target(const Expression* target) {
    if (stream_.failed() || !in_loop_) return;
    if (const auto* const name = dynamic_cast<const Name*>(target)) {
      if (name->name == "loop")
        stream_.fail(name->line(), "Can't assign to special loop variable in for-loop target");
    }
    if (const auto* const tuple = dynamic_cast<const SequenceLiteral*>(target)) {
      for (const ExpressionPointer& element : tuple->elements) check_target(element.get());
    }
  }

  std::unique_ptr<Statement> parse_for() {
    auto loop = std::make_unique<For>(stream_.take().line);
    const bool was_in_loop = std::exchange(in_loop_, true);
    loop->target = expressions_.parse_target(false, "in");
    check_target(loop->target.get());
    stream_.expect_name("in");
    loop->iterable = expressions_.parse_tuple(false, "recursive");
    if (stream_.skip_name("if")) loop->test = expressions_.parse();
    loop->is_recursive = stream_.skip_name("recursive");
    ++jumpable_loops_;
    loop->body = parse_block({"endfor", "else"});
    --jumpable_loops_;
    if (stream_.skip_name("else")) {
      loop->otherwise = parse_block({"endfor"});
    }
    stream_.expect_name("endfor");
    in_loop_ = was_in_loop;
    return loop;
  }

  std::unique_ptr<Statement> parse_if() {
    auto statement = std::make_unique<If>(stream_.line());
    do {
      stream_.take();  // if, elif
      If::Branch branch;
      branch.test = expressions_.parse_tuple(false);
      branch.body = parse_block({"elif", "else", "endif"});
      statement->branches.push_back(std::move(branch));
    } while (!stream_.failed() && stream_.is_name("elif"));
    if (stream_.skip_name("else")) statement->otherwise = parse_block({"endif"});
    stream_.expect_name("endif");
    return statement;
  }

  std::unique_ptr<Statement> parse_set() {
    const std::uint32_t line = stream_.take().line;
    ExpressionPointer target = expressions_.parse_target(true);
    check_target(target.get());
    if (stream_.skip_operator("=")) {
      auto statement = std::make_unique<Set>(line);
      statement->target = std::move(target);
      statement->expression = expressions_.parse_tuple();
      return statement;
    }
    auto statement = std::make_unique<SetBlock>(line);
    statement->target = std::move(target);
    statement->filters = expressions_.parse_filters(false);
    statement->body = parse_block_to("endset");
    return statement;
  }

  std::unique_ptr<Statement> parse_filter_block() {
    auto statement = std::make_unique<FilterBlock>(stream_.take().line);
    statement->filters = expressions_.parse_filters(true);
    statement->body = parse_block_to("endfilter");
    return statement;
  }

  std::unique_ptr<Statement> parse_with() {
    auto statement = std::make_unique<With>(stream_.take().line);
    while (!stream_.failed() && !stream_.is(Kind::kBlockEnd)) {
      if (!statement->values.empty()) stream_.expect_operator(",");
      ExpressionPointer target = expressions_.parse_target(false);
      stream_.expect_operator("=");
      statement->values.emplace_back(std::move(target), expressions_.parse());
    }
    statement->body = parse_block_to("endwith");
    return statement;
  }

  // A body that is a function in jinja2: no loop around it can be left from there.
  Body parse_function_body(std::string_view end) {
    const int loops = std::exchange(jumpable_loops_, 0);
    Body body = parse_block_to(end);
    jumpable_loops_ = loops;
    return body;
  }

  void parse_macro_body(MacroBody& macro, std::string_view end) {
    const ExpressionParser::SpecialReads before = expressions_.special_reads();
    macro.body = parse_function_body(end);
    const ExpressionParser::SpecialReads& after = expressions_.special_reads();
    macro.takes_caller = after.caller > before.caller;
    macro.takes_named = after.kwargs > before.kwargs;
    macro.takes_positional = after.varargs > before.varargs;
  }

  void parse_parameters(MacroBody& macro) {
    stream_.expect_operator("(");
    std::unordered_set<std::string> names;
    while (!stream_.failed() && !stream_.is_operator(")")) {
      if (!macro.parameters.empty()) stream_.expect_operator(",");
      MacroBody::Parameter parameter;
      parameter.name = expressions_.parse_target_name();
      if (stream_.skip_operator("=")) {
        parameter.otherwise = expressions_.parse();
      } else if (!macro.parameters.empty() && macro.parameters.back().otherwise) {
        stream_.fail("non-default argument follows default argument");
      }
      if (!names.insert(parameter.name).second)
        stream_.fail("duplicate argument " + quoted(parameter.name));
      macro.parameters.push_back(std::move(parameter));
    }
    stream_.expect_operator(")");
  }

  std::unique_ptr<Statement> parse_macro() {
    auto statement = std::make_unique<MacroStatement>(stream_.take().line);
    statement->macro.name = expressions_.parse_target_name();
    if (in_loop_ && statement->macro.name == "loop")
      stream_.fail("a macro in a loop cannot be called loop");
    parse_parameters(statement->macro);
    parse_macro_body(statement->macro, "endmacro");
    return statement;
  }

  std::unique_ptr<Statement> parse_call_block() {
    auto statement = std::make_unique<CallBlock>(stream_.take().line);
    if (stream_.is_operator("(")) parse_parameters(statement->caller);
    ExpressionPointer call = expressions_.parse();
    if (stream_.failed()) return nullptr;
    auto* const of = dynamic_cast<Call*>(call.get());
    if (of == nullptr) {
      stream_.fail(statement->line(), "expected call");
      return nullptr;
    }
    call.release();  // NOLINT(bugprone-unused-return-value): `of` is the same
    statement->call.reset(of);
    parse_macro_body(statement->caller, "endcall");
    return statement;
  }

  std::unique_ptr<Statement> parse_generation() {
    auto statement = std::make_unique<ScopedBlock>(stream_.take().line);
    statement->body = parse_function_body("endgeneration");
    return statement;
  }

  std::unique_ptr<Statement> parse_jump() {
    const Token token = stream_.take();
    if (jumpable_loops_ == 0) stream_.fail(token.line, quoted(token.text) + " outside loop");
    return std::make_unique<Jump>(token.line,
                                  token.text == "break" ? Flow::kBreak : Flow::kContinue);
  }

  std::unique_ptr<Statement> parse_named_block() {
    auto statement = std::make_unique<Block>(stream_.take().line);
    const std::string name = stream_.expect(Kind::kName).text;
    if (!blocks_.insert(name).second)
      stream_.fail(statement->line(), "block " + quoted(name) + " defined twice");
    if (stream_.is_name("scoped")) stream_.fail("scoped blocks are not supported");
    statement->is_required = stream_.skip_name("required");
    statement->body = parse_function_body("endblock");
    stream_.skip_name(name);
    return statement;
  }

  std::unique_ptr<Statement> parse_autoescape() {
    auto statement = std::make_unique<Autoescape>(stream_.take().line);
    statement->is_on = expressions_.parse();
    statement->body = parse_block_to("endautoescape");
    return statement;
  }

  std::unique_ptr<OtherTemplate> parse_other() {
    auto statement = std::make_unique<OtherTemplate>(stream_.take().line);
    statement->other = expressions_.parse();
    return statement;
  }

  void skip_import_context() {
    const bool has_context = (stream_.is_name("with") || stream_.is_name("without")) &&
                             TokenStream::is_name(stream_.next(), "context");
    if (!has_context) return;
    stream_.take();
    stream_.take();
  }

  std::unique_ptr<Statement> parse_extends() { return parse_other(); }

  std::unique_ptr<Statement> parse_include() {
    std::unique_ptr<OtherTemplate> statement = parse_other();
    if (stream_.is_name("ignore") && TokenStream::is_name(stream_.next(), "missing")) {
      stream_.take();
      stream_.take();
    }
    skip_import_context();
    return statement;
  }

  std::unique_ptr<Statement> parse_import() {
    std::unique_ptr<OtherTemplate> statement = parse_other();
    stream_.expect_name("as");
    statement->imported.push_back(expressions_.parse_target_name());
    skip_import_context();
    return statement;
  }

  std::unique_ptr<Statement> parse_from() {
    std::unique_ptr<OtherTemplate> statement = parse_other();
    stream_.expect_name("import");
    do {
      std::string name = expressions_.parse_target_name();
      if (name.starts_with('_'))
        stream_.fail("names starting with an underline can not be imported");
      if (stream_.skip_name("as")) name = expressions_.parse_target_name();
      statement->imported.push_back(std::move(name));
      skip_import_context();
    } while (stream_.skip_operator(","));
    return statement;
  }

  TokenStream& stream_;
  ExpressionParser expressions_;
  Template& parsed_;
  int nesting_ = 0;
  bool in_loop_ = false;
  int jumpable_loops_ = 0;
  std::set<std::string> blocks_;
};

}  // namespace

Status parse(std::string_view source, Template& parsed) {
  Result<std::vector<Token>> tokens = tokens_of(source);
  if (!tokens) return tokens.error();
  TokenStream stream(std::move(*tokens));
  StatementParser(stream, parsed).run();
  if (stream.failed()) return stream.status();
  parsed.body.declare(parsed.scope);
  parsed.body.link({parsed.scope, false, stream.status()});
  return stream.status();
}

}  // namespace polystate::chat_template
