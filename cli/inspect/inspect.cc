#include "cli/inspect/inspect.h"

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "cli/artifact_program.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/inspect/inspect_page.h"
#include "cli/inspect/inspect_report.h"
#include "cli/output.h"
#include "core/atomic_file.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/report/document.h"
#include "polystate/report/render.h"
#include "program/pictures.h"
#include "program/program.h"

namespace polystate::cli {
namespace {

struct InspectArguments {
  ArtifactArguments artifact;
  std::string graph;           // the method whose graph is asked for; empty: none
  std::string format = "dot";  // of the graph
  std::filesystem::path html;  // empty: no page
};

Result<std::string> graph_text(const Artifact& artifact, const InspectArguments& arguments) {
  const Result<std::size_t> spec = artifact.manifest().method_index(arguments.graph);
  if (!spec) return spec.error();
  const Result<program::Program> program = program_of(artifact);
  if (!program) return program.error();
  const Result<std::size_t> index = program::find_method(*program, arguments.graph);
  if (!index) return Error{ErrorCode::kArtifact, index.error().message};
  const report::Graph graph =
      program::graph_of(program->methods[*index], names_of(artifact.manifest().methods[*spec]));
  return arguments.format == "svg" ? report::graph_svg(graph) : report::graph_dot(graph);
}

Status write_page(const Artifact& artifact, const std::filesystem::path& file) {
  const Result<report::Document> document = inspect_page(artifact);
  if (!document) return document.error();
  const std::string page = report::render_html(*document);
  return write_file(file, std::as_bytes(std::span(page)));
}

Result<ExitStatus> inspect(const InspectArguments& arguments, Output& output) {
  const Result<Artifact> artifact =
      Artifact::open(arguments.artifact.directory, arguments.artifact.options);
  if (!artifact) return while_opening(artifact.error());
  if (!arguments.graph.empty()) {
    const Result<std::string> graph = graph_text(*artifact, arguments);
    if (!graph) return graph.error();
    output.write(*graph);
  } else if (!arguments.html.empty()) {
    if (const Status written = write_page(*artifact, arguments.html); !written)
      return written.error();
  } else {
    output.write(arguments.artifact.json ? inspect_json(*artifact)
                                         : inspect_text(*artifact, output.has_colour()));
  }
  return ExitStatus::kSuccess;
}

}  // namespace

void declare_inspect(CLI::App& polystate, Action& action) {
  CLI::App* const command =
      polystate.add_subcommand("inspect", "Show methods, contract, state, memory and files");
  const auto arguments = std::make_shared<InspectArguments>();
  declare_artifact_arguments(*command, arguments->artifact);
  CLI::Option* const graph =
      command
          ->add_option("--graph", arguments->graph,
                       "Show the operators of METHOD as a graph, in the language of Graphviz")
          ->type_name("METHOD")
          ->excludes("--json");
  command->add_option("--format", arguments->format, "Of the graph: dot (the default) or svg")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"dot", "svg"}).description(""))
      ->needs(graph);
  command
      ->add_option("--html", arguments->html,
                   "Write one page with everything, its graphs and memory plans, to FILE")
      ->type_name("FILE")
      ->excludes("--json")
      ->excludes(graph)
      ->check([](const std::string& path) {
        return path.empty() ? std::string("a file's name is empty") : std::string();
      });
  command->callback([arguments, &action] {
    action = [arguments](Output& output) { return inspect(*arguments, output); };
  });
}

}  // namespace polystate::cli
