// The extension polystate._core: the C++ library as the Python package calls it. What users call
// is in python/polystate/runtime.

#include <pybind11/pybind11.h>

#include "chat.h"
#include "chat_template.h"
#include "crash.h"
#include "generation.h"
#include "generation_options.h"
#include "grammar.h"
#include "model.h"
#include "operators.h"
#include "report.h"
#include "response.h"
#include "session.h"
#include "token_model.h"
#include "tokenizer.h"

PYBIND11_MODULE(_core, module) {
  module.attr("__version__") = POLYSTATE_VERSION;
  polystate::python::bind_crash(module);
  polystate::python::bind_session(module);
  polystate::python::bind_model(module);
  polystate::python::bind_tokenizer(module);
  polystate::python::bind_chat_template(module);
  polystate::python::bind_report(module);
  polystate::python::bind_response(module);
  polystate::python::bind_grammar(module);
  polystate::python::bind_generation_options(module);
  polystate::python::bind_generation(module);
  polystate::python::bind_chat(module);
  polystate::python::bind_token_model(module);
  polystate::python::bind_operators(module);
}
