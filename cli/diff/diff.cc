#include "cli/diff/diff.h"

#include <CLI/App.hpp>
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/command.h"
#include "cli/diff/differences.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

struct DiffArguments {
  std::filesystem::path before;
  std::filesystem::path after;
  ArtifactOptions options;
  bool json = false;
};

Result<ExitStatus> diff(const DiffArguments& arguments, Output& output) {
  const Result<Artifact> before = Artifact::open(arguments.before, arguments.options);
  if (!before) return while_opening(before.error());
  const Result<Artifact> after = Artifact::open(arguments.after, arguments.options);
  if (!after) return while_opening(after.error());
  const Result<std::vector<Change>> differences = differences_of(*before, *after);
  if (!differences) return differences.error();
  output.write(arguments.json ? differences_json(*differences)
                              : differences_text(*differences, output.has_colour()));
  return differences->empty() ? ExitStatus::kSuccess : ExitStatus::kDifferent;
}

}  // namespace

void declare_diff(CLI::App& polystate, Action& action) {
  CLI::App* const command =
      polystate.add_subcommand("diff", "Show what changed between two artifacts");
  const auto arguments = std::make_shared<DiffArguments>();
  command->add_option("A", arguments->before, "An artifact's directory")->type_name("")->required();
  command->add_option("B", arguments->after, "Another's")->type_name("")->required();
  declare_trusted(*command, arguments->options);
  declare_json(*command, arguments->json);
  command->callback([arguments, &action] {
    action = [arguments](Output& output) { return diff(*arguments, output); };
  });
}

}  // namespace polystate::cli
