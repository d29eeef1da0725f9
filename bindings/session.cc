#include "session.h"

#include <pybind11/stl/filesystem.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "argument.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/tensor.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"
#include "process.h"
#include "raise.h"
#include "results.h"
#include "text.h"
#include "torch.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

std::vector<DType> dtypes_of(const std::vector<OutputSpec>& outputs) {
  std::vector<DType> dtypes;
  dtypes.reserve(outputs.size());
  for (const OutputSpec& output : outputs) dtypes.push_back(output.dtype);
  return dtypes;
}

}  // namespace

SessionBinding::SessionBinding(Model model, Session session)
    : model_(std::move(model)), session_(std::move(session)) {}

py::tuple SessionBinding::run(const py::object& name, const py::tuple& positional,
                              const py::dict& named) {
  check_process();
  const std::string method = to_utf8(name);
  const Manifest& manifest = model_.manifest();
  const MethodSpec& spec = manifest.methods[unwrap(manifest.method_index(method))];
  const Torch torch = Torch::find();
  const std::vector<Argument> arguments = bind_arguments(spec, positional, named, torch);
  const Results results(dtypes_of(spec.outputs), torch);

  std::vector<Tensor> inputs;
  inputs.reserve(arguments.size());
  for (const Argument& argument : arguments) inputs.push_back(argument.tensor());
  const std::vector<Tensor> outputs =
      unwrap(without_gil([&] { return session_.run(method, inputs); }));

  for (const Argument& argument : arguments) argument.finish(torch);
  py::tuple given(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) given[i] = results.give(outputs[i]);
  return given;
}

void SessionBinding::reset() {
  check_process();
  unwrap(without_gil([&] { return session_.reset(); }));
}

Snapshot SessionBinding::snapshot() {
  check_process();
  return unwrap(without_gil([&] { return session_.snapshot(); }));
}

void SessionBinding::restore(const Snapshot& snapshot) {
  check_process();
  unwrap(without_gil([&] { return session_.restore(snapshot); }));
}

void SessionBinding::save(const std::filesystem::path& path) {
  check_process();
  unwrap(without_gil([&] { return session_.save(path); }));
}

void SessionBinding::load(const std::filesystem::path& path) {
  check_process();
  unwrap(without_gil([&] { return session_.load(path); }));
}

py::object SessionBinding::read_state(const std::string& name) {
  check_process();
  const Manifest& manifest = model_.manifest();
  const StateSpec& state = manifest.state[unwrap(manifest.state_index(name))];
  const Results results(std::array{state.dtype}, Torch::find());
  return results.give(unwrap(without_gil([&] { return session_.read_state(name); })));
}

void SessionBinding::write_state(const std::string& name, const py::object& value) {
  check_process();
  const Manifest& manifest = model_.manifest();
  const StateSpec& state = manifest.state[unwrap(manifest.state_index(name))];
  const Wanted wanted{.dtype = state.dtype, .written = false, .where = "state '" + name + "'"};
  const Argument argument = Argument::create(value, wanted, Torch::find());
  unwrap(without_gil([&] { return session_.write_state(name, argument.tensor()); }));
}

py::bytes SessionBinding::take_profile() {
  check_process();
  const std::vector<std::byte> profile =
      unwrap(without_gil([&] { return session_.take_profile(); }));
  return {reinterpret_cast<const char*>(profile.data()), profile.size()};
}

void bind_session(const py::module_& module) {
  const py::class_<Snapshot> snapshot(module, "Snapshot");
  py::class_<SessionBinding>(module, "Session")
      .def("run", &SessionBinding::run)
      .def("reset", &SessionBinding::reset)
      .def("snapshot", &SessionBinding::snapshot)
      .def("restore", &SessionBinding::restore)
      .def("save", &SessionBinding::save)
      .def("load", &SessionBinding::load)
      .def("read_state", &SessionBinding::read_state)
      .def("write_state", &SessionBinding::write_state)
      .def("take_profile", &SessionBinding::take_profile);
}

}  // namespace polystate::python
