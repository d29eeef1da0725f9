#include "model.h"

#include <pybind11/stl/filesystem.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"
#include "process.h"
#include "raise.h"
#include "session.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

Model load(const std::filesystem::path& path, std::uint32_t threads, bool trusted,
           std::string expect_sha256) {
  check_process();
  const ModelOptions options{
      .artifact = {.verification = trusted ? Verification::kTrusted : Verification::kFull,
                   .expect_sha256 = std::move(expect_sha256)},
      .threads = threads};
  Result<Model> model = [&] {
    const py::gil_scoped_release released;
    return Model::open(path, options);
  }();
  return unwrap(std::move(model));
}

std::unique_ptr<SessionBinding> new_session(const Model& model, bool profile) {
  check_process();
  Result<Session> session = [&] {
    const py::gil_scoped_release released;
    return model.new_session({.profile = profile});
  }();
  return std::make_unique<SessionBinding>(model, unwrap(std::move(session)));
}

py::bytes manifest_text(const Model& model) {
  const auto file = unwrap(model.artifact().read("manifest.json"));
  const auto bytes = file->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void bind_model(py::module_& module) {
  py::class_<Model>(module, "Model")
      .def("new_session", &new_session)
      .def("manifest_text", &manifest_text)
      .def_property_readonly("state_bytes", &Model::state_bytes)
      .def_property_readonly("activation_bytes", &Model::activation_bytes);
  module.def("load", &load);
}

}  // namespace polystate::python
