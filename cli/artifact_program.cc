#include "cli/artifact_program.h"

#include <cstddef>
#include <string>
#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "program/pictures.h"
#include "program/program.h"

namespace polystate::cli {
namespace {

void set_name(std::vector<std::string>& names, std::size_t index, const std::string& name) {
  for (std::size_t i = names.size(); i <= index; ++i) names.push_back(std::to_string(i));
  names[index] = name;
}

}  // namespace

bool has_operators(const Artifact& artifact) {
  return artifact.manifest().program.engine == "executorch";
}

Result<program::Program> program_of(const Artifact& artifact) {
  const std::string& file = artifact.manifest().program.file;
  if (!has_operators(artifact)) {
    return Error{ErrorCode::kUnsupported,
                 file + " is machine code, which has no graph of operators"};
  }
  Result<program::Program> program = program::read_program(artifact.program()->bytes());
  if (!program) return Error{program.error().code, file + ": " + program.error().message};
  return program;
}

program::MethodNames names_of(const MethodSpec& method) {
  program::MethodNames names;
  for (const InputSpec& input : method.inputs) {
    names.inputs.push_back(input.name);
    if (input.written_from.has_value())
      set_name(names.outputs, *input.written_from, input.name + ", written");
  }
  for (const OutputSpec& output : method.outputs)
    set_name(names.outputs, output.program_output, output.name);
  return names;
}

}  // namespace polystate::cli
