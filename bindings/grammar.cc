#include "grammar.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/grammar/response_format.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/tokenizer.h"
#include "raise.h"
#include "tokenizer.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

// What `_core.Grammar` is.
struct GrammarBinding {
  std::shared_ptr<const LogitsProcessor> processor;
  std::size_t vocabulary;
};

// What `_core.GrammarState` is.
struct StateBinding {
  GrammarBinding grammar;
  std::unique_ptr<RowState> state;
  std::size_t length;  // tokens of the text
};

GrammarBinding compile(const TokenizerBinding& tokenizer, const std::string& response_format,
                       const std::vector<TokenId>& ends) {
  const ResponseFormat format = unwrap(ResponseFormat::parse(response_format));
  const Tokenizer& read = *tokenizer.tokenizer;
  const auto compiler = unwrap(without_gil([&] { return GrammarCompiler::create(read); }));
  return {unwrap(without_gil([&] { return compiler->compile(format, {.ends = ends}); })),
          read.vocabulary_size()};
}

StateBinding start(const GrammarBinding& grammar) {
  return {grammar, unwrap(grammar.processor->start({})), 0};
}

StateBinding fork(const StateBinding& self) {
  return {self.grammar, unwrap(self.state->fork()), self.length};
}

// Of each token, whether it may follow.
py::array_t<bool> allowed(const StateBinding& self) {
  std::vector<float> scores(self.grammar.vocabulary);
  unwrap(self.grammar.processor->process(
      {.tokens = {}, .prompt_length = 0, .source = {}, .state = self.state.get()}, scores));
  py::array_t<bool> given(static_cast<py::ssize_t>(scores.size()));
  bool* const values = given.mutable_data();
  for (std::size_t i = 0; i < scores.size(); ++i) values[i] = scores[i] == 0.0F;
  return given;
}

void advance(StateBinding& self, TokenId token) {
  const py::array_t<bool> tokens = allowed(self);
  if (token >= self.grammar.vocabulary || !tokens.data()[token]) {
    raise({ErrorCode::kContract, "token " + std::to_string(token) +
                                     " may not follow: response_format does not allow it"});
  }
  unwrap(self.state->advance(token));
  ++self.length;
}

void rewind(StateBinding& self, std::size_t count) {
  if (count > self.length) {
    raise({ErrorCode::kContract, "cannot rewind " + std::to_string(count) +
                                     " tokens: the text has " + std::to_string(self.length)});
  }
  unwrap(self.state->rewind(count));
  self.length -= count;
}

}  // namespace

void bind_grammar(const py::module_& module) {
  py::class_<GrammarBinding>(module, "Grammar").def(py::init(&compile)).def("start", &start);
  py::class_<StateBinding>(module, "GrammarState")
      .def("allowed", &allowed)
      .def("advance", &advance)
      .def("rewind", &rewind)
      .def("fork", &fork);
}

}  // namespace polystate::python
