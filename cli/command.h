#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_status.h"
#include "cli/output.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/session/model.h"

namespace CLI {
class App;
}

namespace polystate::cli {

// What the command line asks for, to be carried out after it was read.
using Action = std::function<Result<ExitStatus>(Output&)>;

// What every command takes that opens an artifact.
struct ArtifactArguments {
  std::filesystem::path directory;
  ArtifactOptions options;
  bool json = false;  // one line of JSON in place of text for people
};

void declare_trusted(CLI::App& command, ArtifactOptions& options);
void declare_json(CLI::App& command, bool& json);
void declare_artifact_arguments(CLI::App& command, ArtifactArguments& arguments);

// What a command takes that also runs the artifact.
struct ModelArguments {
  ArtifactArguments artifact;
  std::optional<std::int64_t> threads;  // without a value as ModelOptions says
  bool trust_code = false;

  [[nodiscard]] ModelOptions model_options() const;
};

void declare_model_arguments(CLI::App& command, ModelArguments& arguments);

// Takes the arguments that are left as texts, each as it is.
void declare_texts(CLI::App& command, const char* name, std::vector<std::string>& texts,
                   const char* help);

}  // namespace polystate::cli
