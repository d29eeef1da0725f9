#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/grammar/response_format.h"

namespace polystate::cli {

// What a command is told of what its texts have to be.
struct ResponseFormatArguments {
  std::string json_schema;  // the file of a schema
  std::string grammar;      // the file of a grammar
  std::optional<std::string> regex;
  std::vector<std::string> choices;
};

void declare_response_format(CLI::App& command, ResponseFormatArguments& arguments);

// Reads the files. Nothing where a text may be anything.
Result<std::optional<ResponseFormat>> response_format(const ResponseFormatArguments& arguments);

}  // namespace polystate::cli
