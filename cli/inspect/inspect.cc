#include "cli/inspect/inspect.h"

#include <CLI/App.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/inspect/inspect_report.h"
#include "cli/output.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

Result<ExitStatus> inspect(const ArtifactArguments& arguments, Output& output) {
  const Result<Artifact> artifact = Artifact::open(arguments.directory, arguments.options);
  if (!artifact) return while_opening(artifact.error());
  output.write(arguments.json ? inspect_json(*artifact)
                              : inspect_text(*artifact, output.has_colour()));
  return ExitStatus::kSuccess;
}

}  // namespace

void declare_inspect(CLI::App& polystate, Action& action) {
  CLI::App* const command =
      polystate.add_subcommand("inspect", "Show methods, contract, state, memory and files");
  const auto arguments = std::make_shared<ArtifactArguments>();
  declare_artifact_arguments(*command, *arguments);
  command->callback([arguments, &action] {
    action = [arguments](Output& output) { return inspect(*arguments, output); };
  });
}

}  // namespace polystate::cli
