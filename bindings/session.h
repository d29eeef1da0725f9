#pragma once

#include <pybind11/pybind11.h>

#include <filesystem>
#include <string>

#include "polystate/session/model.h"
#include "polystate/session/session.h"

namespace polystate::python {

// A Session as Python calls it. Every call gives the GIL back while C++ works.
class SessionBinding {
 public:
  SessionBinding(Model model, Session session);

  pybind11::tuple run(const pybind11::object& name, const pybind11::tuple& positional,
                      const pybind11::dict& named);
  void reset();
  Snapshot snapshot();
  void restore(const Snapshot& snapshot);
  void save(const std::filesystem::path& path);
  void load(const std::filesystem::path& path);
  pybind11::object read_state(const std::string& name);
  void write_state(const std::string& name, const pybind11::object& value);
  pybind11::bytes take_profile();

 private:
  Model model_;
  Session session_;
};

// Adds the classes Session and Snapshot to the module.
void bind_session(const pybind11::module_& module);

}  // namespace polystate::python
