#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace polystate {

// The way to a value in a JSON document is its steps one after another: methods[0].inputs[1].dtype,
// files["golden.npz"].

std::string json_step(std::size_t index);
std::string json_step(std::string_view name);

// What a message about a value begins with: "methods[0]: ", or "processor.json: features[0]: " in a
// document that has a name.
std::string json_place(std::string_view document, std::string_view steps);

}  // namespace polystate
