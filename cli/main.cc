#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <algorithm>
#include <clocale>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cli/chat/chat.h"
#include "cli/command.h"
#include "cli/diff/diff.h"
#include "cli/doctor/doctor.h"
#include "cli/exit_status.h"
#include "cli/explain/explain.h"
#include "cli/generate/complete.h"
#include "cli/generate/score.h"
#include "cli/generate/translate.h"
#include "cli/inspect/inspect.h"
#include "cli/output.h"
#include "cli/run/run.h"
#include "cli/text.h"
#include "cli/tokenize/tokenize.h"
#include "cli/version.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

constexpr const char* kExitStatuses = R"(Exit status:
  0  all is well
  1  a result could not be written
  2  the command line is wrong
  3  the artifact or tokenizer is missing, damaged, inconsistent or not trusted
  4  an input, a name or a session file is one that it does not take
  5  the engine failed, cannot run the artifact, or computes other values than were recorded
  6  diff: the artifacts differ
)";

ExitStatus report(ExitStatus status, const std::string& message) {
  std::fprintf(stderr, "polystate: %s\n", printable(message).c_str());
  return status;
}

void declare(CLI::App& app, Action& action) {
  app.require_subcommand(1);
  app.footer(kExitStatuses);
  declare_inspect(app, action);
  declare_run(app, action);
  declare_diff(app, action);
  declare_doctor(app, action);
  declare_chat(app, action);
  declare_complete(app, action);
  declare_score(app, action);
  declare_translate(app, action);
  declare_tokenize(app, action);
  declare_explain(app, action);
  const std::string version = "polystate " + version_text();
  app.set_version_flag("--version", version, "Print the version and exit");
  for (CLI::App* const command : app.get_subcommands({})) {
    command->set_version_flag("--version", version, "Print the version and exit");
  }
}

// Reads the command line and does what it asks for.
ExitStatus execute(std::vector<std::string> arguments, Output& output) {
  CLI::App app(
      "Runs artifacts of PyTorch programs with several methods and one state; generates text.",
      "polystate");
  Action action;
  declare(app, action);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the end
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    output.write(app.help());
    return ExitStatus::kSuccess;
  } catch (const CLI::CallForVersion& version) {
    output.write(std::string(version.what()) + "\n");
    return ExitStatus::kSuccess;
  } catch (const CLI::ParseError& error) {
    return report(ExitStatus::kUsage, std::string(error.what()) + " (--help lists what there is)");
  }
  const Result<ExitStatus> status = action(output);
  return status ? *status : report(status_of(status.error().code), status.error().message);
}

// A descriptor that the caller closed would be given to the next file that is opened, and output
// would go there.
void occupy_standard_descriptors() {
  for (int descriptor = ::open("/dev/null", O_RDONLY); descriptor >= 0;
       descriptor = ::open("/dev/null", O_RDONLY)) {
    if (descriptor > STDERR_FILENO) {
      ::close(descriptor);
      return;
    }
  }
}

ExitStatus main_status(std::vector<std::string> arguments) {
  occupy_standard_descriptors();
  ::signal(SIGPIPE, SIG_IGN);           // Output sees a closed pipe
  ::signal(SIGXFSZ, SIG_IGN);           // and writers a file that may not grow
  std::setlocale(LC_CTYPE, "C.UTF-8");  // for the widths of characters
  Output output(STDOUT_FILENO);
  try {
    const ExitStatus status = execute(std::move(arguments), output);
    if (status != ExitStatus::kSuccess || output.status()) return status;
    return report(ExitStatus::kOutput, output.status().error().message);
  } catch (const std::bad_alloc&) {
    return report(ExitStatus::kEngine, "out of memory");
  } catch (const std::exception& error) {  // of the standard library
    return report(ExitStatus::kEngine, error.what());
  }
}

}  // namespace
}  // namespace polystate::cli

int main(int argc, char** argv) {
  return static_cast<int>(polystate::cli::main_status({argv + std::min(argc, 1), argv + argc}));
}
