#include "cli/run/run.h"

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "cli/run/call.h"
#include "cli/run/profile_report.h"
#include "cli/run/run_report.h"
#include "cli/text.h"
#include "core/atomic_file.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/artifact/npz.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"
#include "profile/call_times.h"

namespace polystate::cli {
namespace {

namespace fs = std::filesystem;

struct RunArguments {
  ModelArguments model;
  std::vector<CallArguments> calls =
      std::vector<CallArguments>(1);  // METHOD's, then one for each --call
  fs::path output;                    // empty: standard output
  fs::path load_session;              // empty: the initial state
  fs::path save_session;              // empty: the state is dropped
  fs::path profile;                   // empty: what is recorded is not written
  fs::path flame;                     // empty: no flame graph is drawn
  bool times = false;                 // the operators by their time in place of the results

  [[nodiscard]] bool records() const { return times || !profile.empty() || !flame.empty(); }
};

// A call with everything read that it needs.
struct PreparedCall {
  const MethodSpec& method;
  std::vector<Tensor> inputs;
};

// One file for two results would keep the last of them only.
std::string shared_file_fault(const RunArguments& arguments) {
  const std::array<fs::path, 4> files = {arguments.output, arguments.save_session,
                                         arguments.profile, arguments.flame};
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = i + 1; j < files.size(); ++j) {
      if (!files.at(i).empty() && are_one_file(files.at(i), files.at(j))) {
        return "'" + files.at(i).string() + "' is named for two results";
      }
    }
  }
  return "";
}

std::string output_fault(const std::string& path) {
  const bool is_known = path.ends_with(".npz") || path.ends_with(".npy");
  return is_known ? "" : "'" + path + "' ends in neither .npz nor .npy";
}

// Reads all inputs of all calls first, so that a mistake in the last one costs no run.
Result<std::vector<PreparedCall>> prepare(const Manifest& manifest,
                                          const std::vector<CallArguments>& calls) {
  std::vector<PreparedCall> prepared;
  for (const CallArguments& call : calls) {
    const Result<std::size_t> index = manifest.method_index(call.method);
    if (!index) return index.error();
    const MethodSpec& method = manifest.methods[*index];
    Result<std::vector<Tensor>> inputs = read_inputs(method, call);
    if (!inputs) return inputs.error();
    prepared.push_back({method, *std::move(inputs)});
  }
  return prepared;
}

std::size_t result_count(const std::vector<PreparedCall>& calls) {
  std::size_t count = 0;
  for (const PreparedCall& call : calls) {
    count += call.method.outputs.size();
    for (const InputSpec& input : call.method.inputs)
      count += input.written_from.has_value() ? 1 : 0;
  }
  return count;
}

// A .npy file holds one tensor; better said before the run than after it.
Status check_output(const fs::path& output, const std::vector<PreparedCall>& calls) {
  const std::size_t count = result_count(calls);
  if (output.extension() != ".npy" || count == 1) return {};
  return Error{ErrorCode::kContract,
               output.string() + ": an .npy file holds one tensor, and there are " +
                   std::to_string(count) + " (an .npz file holds any number)"};
}

Result<CallResult> run_call(Session& session, const PreparedCall& call) {
  Result<std::vector<Tensor>> outputs = session.run(call.method.name, call.inputs);
  if (!outputs) return outputs.error();
  CallResult result{.method = call.method.name, .outputs = {}, .written = {}};
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    result.outputs.push_back({call.method.outputs[i].name, (*outputs)[i]});
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const InputSpec& input = call.method.inputs[i];
    if (input.written_from.has_value()) result.written.push_back({input.name, call.inputs[i]});
  }
  return result;
}

Result<std::vector<CallResult>> run_calls(Session& session,
                                          const std::vector<PreparedCall>& calls) {
  std::vector<CallResult> results;
  for (const PreparedCall& call : calls) {
    Result<CallResult> result = run_call(session, call);
    if (!result) {
      const std::string place = "call " + std::to_string(results.size() + 1) + ": ";
      return Error{result.error().code, (calls.size() > 1 ? place : "") + result.error().message};
    }
    results.push_back(*std::move(result));
  }
  return results;
}

Status write_results(const RunArguments& arguments, const std::vector<CallResult>& results,
                     Output& output) {
  if (arguments.output.empty()) {
    if (arguments.times) return {};
    output.write(arguments.model.artifact.json ? results_json(results) : results_text(results));
    return output.status();
  }
  const auto entries = results_entries(results);
  if (arguments.output.extension() == ".npy") {
    return write_npy(arguments.output, entries.begin()->second);
  }
  return write_npz(arguments.output, entries);
}

// What was recorded of the calls, in the forms that are asked for.
Status write_profile(const RunArguments& arguments, const Artifact& artifact, Session& session,
                     Output& output) {
  if (!arguments.records()) return {};
  const Result<std::vector<std::byte>> record = session.take_profile();
  if (!record) return record.error();
  if (!arguments.profile.empty()) {
    if (const Status written = write_file(arguments.profile, *record); !written) return written;
  }
  if (!arguments.times && arguments.flame.empty()) return {};
  std::vector<std::string> methods;
  methods.reserve(arguments.calls.size());
  for (const CallArguments& call : arguments.calls) methods.push_back(call.method);
  const Result<std::vector<profile::CallTimes>> times = read_profile(artifact, methods, *record);
  if (!times) return times.error();
  if (!arguments.flame.empty()) {
    const std::string svg = flame_svg(*times);
    if (const Status written = write_file(arguments.flame, std::as_bytes(std::span(svg))); !written)
      return written;
  }
  if (arguments.times)
    output.write(arguments.model.artifact.json ? times_json(*times) : times_text(*times));
  return output.status();
}

// The session is saved last: where a result cannot be written, the file still holds the state
// before the calls, and the same command line may be tried again.
Status save(const RunArguments& arguments, const std::vector<CallResult>& results,
            const Artifact& artifact, Session& session, Output& output) {
  if (Status status = write_results(arguments, results, output); !status) return status;
  if (Status status = write_profile(arguments, artifact, session, output); !status) return status;
  if (arguments.save_session.empty()) return {};
  return session.save(arguments.save_session);
}

Result<ExitStatus> run(const RunArguments& arguments, Output& output) {
  const Result<Model> model =
      Model::open(arguments.model.artifact.directory, arguments.model.model_options());
  if (!model) return while_opening(model.error());
  const Result<std::vector<PreparedCall>> calls = prepare(model->manifest(), arguments.calls);
  if (!calls) return calls.error();
  const Status fits = check_output(arguments.output, *calls);
  if (!fits) return fits.error();

  Result<Session> session = model->new_session({.profile = arguments.records()});
  if (!session) return session.error();
  if (!arguments.load_session.empty()) {
    const Status status = session->load(arguments.load_session);
    if (!status) return while_reading_input(status.error());
  }
  const Result<std::vector<CallResult>> results = run_calls(*session, *calls);
  if (!results) return results.error();
  const Status saved = save(arguments, *results, model->artifact(), *session, output);
  if (!saved) return saved.error();
  return ExitStatus::kSuccess;
}

constexpr const char* kRunExamples =
    R"(An input's VALUE is an .npy file, an .npz file with an entry NAME, or a literal: 3, true,
[1.5, nan], [[1, 2], [3, 4]]. A literal takes the input's dtype; its brackets give its shape.
--input belongs to the last --call before it, or to METHOD.

  polystate run DIR step --input x=x.npy --input position=3
  polystate run DIR set_cache --input data=x.npy --call get_cache --input data=[[0,0]]
  polystate run DIR decode --input inputs.npz --session s.bin --save-session s.bin -o out.npz
)";

void declare_calls(CLI::App& command, std::vector<CallArguments>& calls) {
  command
      .add_option_function<std::string>(
          "METHOD", [&calls](const std::string& method) { calls.front().method = method; },
          "The method to call")
      ->type_name("")
      ->required();
  // The callbacks run while the line is read, and so in its order.
  command
      .add_option_function<std::string>(
          "--input,-i",
          [&calls](const std::string& input) { calls.back().inputs.push_back(input); },
          "An input of the call: NAME=VALUE, or an .npz file of several")
      ->type_name("INPUT")
      ->check(input_fault)
      ->trigger_on_parse();
  command
      .add_option_function<std::string>(
          "--call,-c", [&calls](const std::string& method) { calls.push_back({method, {}}); },
          "Then call METHOD on the same state; may be repeated")
      ->type_name("METHOD")
      ->trigger_on_parse();
}

}  // namespace

void declare_run(CLI::App& polystate, Action& action) {
  CLI::App* const command = polystate.add_subcommand("run", "Call methods on one state");
  const auto arguments = std::make_shared<RunArguments>();
  declare_model_arguments(*command, arguments->model);
  declare_calls(*command, arguments->calls);
  command
      ->add_option("--output,-o", arguments->output,
                   "Write outputs and mutated inputs here, not to standard output")
      ->type_name("FILE.npz|npy")
      ->check(output_fault)
      ->excludes("--json");
  command->add_option("--session", arguments->load_session, "Start from this saved session")
      ->type_name("FILE")
      ->check(empty_fault);
  command->add_option("--save-session", arguments->save_session, "Save the session afterwards")
      ->type_name("FILE")
      ->check(empty_fault);
  command
      ->add_option("--profile", arguments->profile, "Write what the calls took (docs/engines.md)")
      ->type_name("FILE")
      ->check(empty_fault);
  command->add_option("--flame", arguments->flame, "Draw a flame graph of the calls, as SVG")
      ->type_name("FILE")
      ->check(empty_fault);
  command->add_flag("--times", arguments->times,
                    "Print how long operators and kernels took, in place of the results");
  command->footer(kRunExamples);
  command->callback([arguments, &action] {
    if (const std::string fault = shared_file_fault(*arguments); !fault.empty()) {
      throw CLI::ValidationError(fault);
    }
    action = [arguments](Output& output) { return run(*arguments, output); };
  });
}

}  // namespace polystate::cli
