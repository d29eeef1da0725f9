#include "model.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "polystate/artifact/artifact.h"
#include "polystate/core/sha256.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"
#include "process.h"
#include "raise.h"
#include "session.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

Model load(const std::filesystem::path& path, bool trust_code, std::optional<std::int64_t> threads,
           bool trusted, std::optional<std::string> expect_sha256) {
  check_process();
  const ModelOptions options{
      .artifact = {.verification = trusted ? Verification::kTrusted : Verification::kFull,
                   .expect_sha256 = std::move(expect_sha256)},
      .threads = threads,
      .trust_code = trust_code};
  return unwrap(without_gil([&] { return Model::open(path, options); }));
}

std::unique_ptr<SessionBinding> new_session(const Model& model, bool profile,
                                            bool single_threaded) {
  check_process();
  const SessionOptions options{.profile = profile, .single_threaded = single_threaded};
  return std::make_unique<SessionBinding>(
      model, unwrap(without_gil([&] { return model.new_session(options); })));
}

std::string sha256(const Model& model) { return to_hex(model.artifact().digest()); }

py::bytes manifest_text(const Model& model) { return model.artifact().manifest_text(); }

}  // namespace

void bind_model(py::module_& module) {
  py::class_<Model>(module, "Model")
      .def("new_session", &new_session)
      .def_property_readonly("sha256", &sha256)
      .def_property_readonly("manifest_text", &manifest_text)
      .def_property_readonly("state_bytes", &Model::state_bytes)
      .def_property_readonly("activation_bytes", &Model::activation_bytes);
  module.def("load", &load);
}

}  // namespace polystate::python
