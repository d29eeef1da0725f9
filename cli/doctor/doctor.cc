#include "cli/doctor/doctor.h"

#include <CLI/App.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/describe.h"
#include "cli/doctor/cpu.h"
#include "cli/doctor/diagnosis.h"
#include "cli/doctor/golden.h"
#include "cli/doctor/memory.h"
#include "cli/exit_status.h"
#include "cli/footprint.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/version.h"
#include "core/text.h"
#include "engine/engine_factory.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"

namespace polystate::cli {
namespace {

// Goes through the steps; each is told as soon as it is done, so that even a crash of the engine
// leaves a trace.
class Doctor {
 public:
  Doctor(const ModelArguments& arguments, Output& output)
      : arguments_(arguments), output_(output) {}

  ExitStatus examine() {
    diagnosis_.cpu = inspect_cpu();
    diagnosis_.here = versions_here();
    tell(machine_text(diagnosis_));
    examine_artifact();
    if (arguments_.artifact.json) output_.write(diagnosis_json(diagnosis_));
    return diagnosis_.status;
  }

 private:
  void examine_artifact() {
    Result<Artifact> artifact =
        Artifact::open(arguments_.artifact.directory, arguments_.artifact.options);
    if (!artifact) return fail("artifact", while_opening(artifact.error()));
    diagnosis_.exported_by = artifact->manifest().versions;
    pass("artifact", artifact_text(*artifact));
    examine_engine(*std::move(artifact));
  }

  void examine_engine(Artifact artifact) {
    Result<std::unique_ptr<Engine>> engine =
        make_engine(artifact, {.threads = arguments_.threads, .trust_code = arguments_.trust_code});
    if (!engine) return fail("engine", engine.error());
    const Model model = Model::create(std::move(artifact), *std::move(engine));
    pass("engine", engine_text(model.manifest().program));
    examine_session(model);
  }

  void examine_session(const Model& model) {
    if (!examine_memory(model.state_bytes(), model.activation_bytes())) return;
    Result<Session> session = model.new_session();
    if (!session) return fail("session", session.error());
    pass("session", count_text(model.manifest().methods.size(), "method") + " ready");
    examine_golden(model.artifact(), *session);
  }

  // Whether a session can be made. State takes memory as it is used, so that only a limit on
  // addresses keeps one from being made.
  bool examine_memory(std::uint64_t state, std::uint64_t activations) {
    std::string needs = "state " + bytes_text(state);
    if (activations > 0) needs += ", activations at most " + bytes_text(activations);
    const std::optional<Memory> memory = inspect_memory();
    if (!memory) {
      pass("memory", needs);
    } else if (state <= memory->bytes && activations <= memory->bytes - state) {
      pass("memory", needs + "; " + bytes_text(memory->bytes) + " can be had");
    } else if (memory->limits_addresses) {
      fail("memory", {ErrorCode::kEngine, shortage_text(needs, *memory)});
      return false;
    } else {
      pass("memory", shortage_text(needs, *memory) + ". The process ends where it uses more");
    }
    return true;
  }

  void examine_golden(const Artifact& artifact, Session& session) {
    const std::optional<GoldenSpec>& golden = artifact.manifest().golden;
    if (!golden.has_value()) {
      return add({"golden", Outcome::kSkipped, "the artifact has no recorded calls"});
    }
    Result<Replay> replay = replay_golden(artifact, *golden, session);
    if (!replay) return fail("golden", replay.error());
    if (replay->deviation.has_value()) {
      diagnosis_.deviation = std::move(replay->deviation);
      return fail("golden", {ErrorCode::kEngine, deviation_text(*diagnosis_.deviation)});
    }
    pass("golden", count_text(replay->calls, "call") + " replayed, " +
                       count_text(replay->elements, "element") + " within " +
                       number_text(golden->relative_tolerance) + " relative and " +
                       number_text(golden->absolute_tolerance) + " absolute");
  }

  [[nodiscard]] std::string artifact_text(const Artifact& artifact) const {
    const std::map<std::string, std::uint64_t> sizes = file_sizes(artifact);
    std::uint64_t bytes = 0;
    for (const auto& [name, size] : sizes) bytes += size;
    const bool is_hashed = arguments_.artifact.options.verification == Verification::kFull;
    return count_text(sizes.size(), "file") + ", " + bytes_text(bytes) + ", " +
           (is_hashed ? "every SHA-256 matches" : "sizes match (--trusted: not hashed)") +
           "; exported by " + versions_text(artifact.manifest().versions);
  }

  static std::string shortage_text(const std::string& needs, const Memory& memory) {
    return "a session has " + needs + "; " + memory.bound + " leaves " + bytes_text(memory.bytes) +
           ": raise that, or export for less (max_length and max_batch of a model that generates, "
           "sizes of buffers and upper ends of ranges of others)";
  }

  static std::string engine_text(const ProgramSpec& program) {
    return program.engine + ", backend " + program.backend + ": " +
           count_text(program.operators.size(), "operator") + " and " +
           count_text(program.delegates.size(), "delegate") + " are available";
  }

  void pass(std::string name, std::string detail) {
    add({std::move(name), Outcome::kPassed, std::move(detail)});
  }

  void fail(std::string name, const Error& error) {
    diagnosis_.status = status_of(error.code);
    add({std::move(name), Outcome::kFailed, error.message});
  }

  void add(Step step) {
    tell(step_text(step));
    diagnosis_.steps.push_back(std::move(step));
  }

  void tell(const std::string& text) {
    if (!arguments_.artifact.json) output_.write(text);
  }

  const ModelArguments& arguments_;
  Output& output_;
  Diagnosis diagnosis_;
};

}  // namespace

void declare_doctor(CLI::App& polystate, Action& action) {
  CLI::App* const command = polystate.add_subcommand(
      "doctor", "Verify an artifact, replay its recorded calls, report the machine");
  const auto arguments = std::make_shared<ModelArguments>();
  declare_model_arguments(*command, *arguments);
  command->callback([arguments, &action] {
    action = [arguments](Output& output) -> Result<ExitStatus> {
      return Doctor(*arguments, output).examine();
    };
  });
}

}  // namespace polystate::cli
