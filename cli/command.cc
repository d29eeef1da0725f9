#include "cli/command.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>     // IWYU pragma: keep (definitions that App's constructor needs)
#include <CLI/Formatter.hpp>  // IWYU pragma: keep (likewise)
#include <CLI/Option.hpp>
#include <CLI/StringTools.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/engine/engine.h"
#include "polystate/session/model.h"

namespace polystate::cli {
namespace {

// What a CLI11 validator returns: empty where `text` is right.
std::string sha256_fault(const std::string& text) {
  const bool is_hex = text.find_first_not_of("0123456789abcdef") == std::string::npos;
  return text.size() == 64 && is_hex ? "" : "'" + text + "' is not 64 lower-case hex digits";
}

}  // namespace

void declare_trusted(CLI::App& command, ArtifactOptions& options) {
  command.add_flag_callback(
      "--trusted", [&options] { options.verification = Verification::kTrusted; },
      "Map the files without hashing them: nobody else may write to them");
}

void declare_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Answer in one line of JSON");
}

void declare_artifact_arguments(CLI::App& command, ArtifactArguments& arguments) {
  command.add_option("DIR", arguments.directory, "The artifact's directory")
      ->type_name("")
      ->required();
  declare_trusted(command, arguments.options);
  command
      .add_option("--expect-sha256", arguments.options.expect_sha256,
                  "Refuse an artifact whose SHA256SUMS has another SHA-256")
      ->type_name("HEX")
      ->check(sha256_fault);
  declare_json(command, arguments.json);
}

void declare_model_arguments(CLI::App& command, ModelArguments& arguments) {
  declare_artifact_arguments(command, arguments.artifact);
  command
      .add_option("--threads", arguments.threads,
                  "Threads, 1 to " + std::to_string(kMaxThreads) +
                      " (one per core; AOTInductor: OMP_NUM_THREADS)")
      ->type_name("COUNT")
      ->check(CLI::Range(std::int64_t{1}, kMaxThreads).description(""));
  command.add_flag("--trust-code", arguments.trust_code,
                   "Run an artifact that is machine code (of AOTInductor)");
}

void declare_texts(CLI::App& command, const char* name, std::vector<std::string>& texts,
                   const char* help) {
  // With "extra" arguments CLI11 takes "[a, b]" for a list of two, and "[]" for none.
  constexpr int kAny = CLI::detail::expected_max_vector_size;
  command.add_option(name, texts, help)
      ->type_name("")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(kAny, kAny)
      ->allow_extra_args(false);
}

ModelOptions ModelArguments::model_options() const {
  return {.artifact = artifact.options, .threads = threads, .trust_code = trust_code};
}

}  // namespace polystate::cli
