#include "cli/diff/artifact_facts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "artifact/zip_reader.h"
#include "cli/artifact_program.h"
#include "cli/describe.h"
#include "cli/footprint.h"
#include "cli/text.h"
#include "core/text.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"
#include "polystate/core/shape.h"
#include "program/operator_counts.h"
#include "program/program.h"
#include "program/weights.h"

namespace polystate::cli {
namespace {

using Facts = std::map<std::string, std::string>;

// So many digits of a digest tell weights apart.
constexpr std::size_t kDigits = 16;

// Digests of parts of a file, each computed once. Parts of a damaged file may lie in one another,
// so that all of them together are far longer than the file.
class Digests {
 public:
  explicit Digests(std::uint64_t file_bytes) : room_(4 * file_bytes) {}

  Result<std::string> of(std::span<const std::byte> part) {
    const auto [known, is_new] = digests_.try_emplace({part.data(), part.size()});
    if (!is_new) return known->second;
    if (part.size() > room_)
      return Error{ErrorCode::kArtifact, "parts of the program lie in one another"};
    room_ -= part.size();
    const Result<Sha256> digest = sha256_of(part);
    if (!digest) return digest.error();
    known->second = to_hex(*digest).substr(0, kDigits);
    return known->second;
  }

 private:
  std::map<std::pair<const std::byte*, std::size_t>, std::string> digests_;
  std::uint64_t room_;  // bytes that may still be read
};

Facts program_facts(const Manifest& manifest) {
  const ProgramSpec& program = manifest.program;
  return {{"engine", program.engine},
          {"backend", program.backend},
          {"quantization", program.quantization.empty() ? "none" : program.quantization},
          {"delegates", listed(program.delegates)},
          {"exported by", versions_text(manifest.versions)}};
}

Facts method_facts(const Manifest& manifest) {
  Facts facts;
  for (const MethodSpec& method : manifest.methods) facts[method.name] = "a method";
  return facts;
}

Facts signature_facts(const std::vector<const MethodSpec*>& methods) {
  Facts facts;
  for (const MethodSpec* const method : methods) {
    for (std::size_t i = 0; i < method->inputs.size(); ++i) {
      const InputSpec& input = method->inputs[i];
      facts[method->name + ", input " + std::to_string(i)] =
          input.name + ": " + input_type_text(*method, i) +
          (input.written_from.has_value() ? ", written by the call" : "");
    }
    for (std::size_t i = 0; i < method->outputs.size(); ++i)
      facts[method->name + ", output " + std::to_string(i)] =
          method->outputs[i].name + ": " + output_type_text(*method, i);
    facts[method->name + ", after a failure"] =
        method->atomic ? "the state is as it was" : "the session must be reset or restored";
  }
  return facts;
}

Facts contract_facts(const std::vector<const MethodSpec*>& methods) {
  Facts facts;
  for (const MethodSpec* const method : methods) {
    const std::vector<std::string> symbols = symbol_names(*method);
    for (const Symbol& symbol : method->symbols)
      facts[method->name + ", size " + symbol.name] = symbol_text(symbol);
    for (const InputSpec& input : method->inputs) {
      for (std::size_t i = 0; i < input.values.size(); ++i)
        facts[method->name + ", values of " + input.name + " (" + std::to_string(i) + ")"] =
            value_range_text(input.values[i], symbols);
    }
    for (const Guard& guard : method->guards)
      facts[method->name + ", requires " + guard.text] = guard.source;
    for (const Check& check : method->checks)
      facts[method->name + ", checks " + check.text] = check.source;
  }
  return facts;
}

Facts state_facts(const Manifest& manifest, const std::vector<const MethodSpec*>& methods) {
  Facts facts;
  for (const StateSpec& state : manifest.state) {
    facts[state.name] = std::string(name_of(state.dtype)) + " " + to_string(state.shape) +
                        (state.zeros ? ", starts as zeros" : ", starts as " + state.preview);
  }
  for (const MethodSpec* const method : methods) {
    for (const std::size_t state : method->reads)
      facts[manifest.state[state].name + ", read by " + method->name] = "reads";
    for (const StateWrite& write : method->writes)
      facts[manifest.state[write.state].name + ", updated by " + method->name] = update_text(write);
  }
  return facts;
}

Facts operator_facts(const program::Program& program, const std::vector<std::string>& methods) {
  Facts facts;
  for (const program::Method& method : program.methods) {
    if (std::ranges::find(methods, method.name) == methods.end()) continue;
    for (const auto& [name, count] : program::operator_counts(method))
      facts[method.name + ", " + name] = count_text(count, "call");
  }
  return facts;
}

// What has no name is told apart by its digest alone: of two equal ones there is one fact.
// Of two with one name the second has its digest in its name.
Result<Facts> weight_facts(const program::Program& program, std::uint64_t file_bytes) {
  Facts facts;
  Digests digests(file_bytes);
  for (const program::Weight& weight : program::weights_of(program)) {
    const Result<std::string> digest = digests.of(weight.bytes);
    if (!digest) return digest.error();
    const std::string size = bytes_text(weight.bytes.size());
    if (weight.name.empty()) {
      facts[weight.type + " of " + *digest] = size;
    } else {
      const std::string name =
          facts.contains(weight.name) ? weight.name + ", " + *digest : weight.name;
      facts[name] = joined({weight.type.empty() ? "delegate's" : weight.type, size, *digest});
    }
  }
  for (const program::Method& method : program.methods) {
    for (const program::Delegate& delegate : method.delegates) {
      const Result<std::string> digest = digests.of(delegate.data);
      if (!digest) return digest.error();
      facts[delegate.backend + "'s program " + *digest] = bytes_text(delegate.data.size());
    }
  }
  return facts;
}

Result<Facts> archive_facts(const Artifact& artifact) {
  const Result<std::vector<ZipEntry>> entries = list_zip(artifact.program()->bytes());
  if (!entries) return Error{ErrorCode::kArtifact, entries.error().message};
  Facts facts;
  for (const ZipEntry& entry : *entries)
    facts[entry.name] = bytes_text(entry.size) + ", CRC-32 " + std::to_string(entry.crc);
  return facts;
}

Facts constant_facts(const Manifest& manifest) {
  Facts facts;
  for (const auto& [name, value] : manifest.constants) facts[name] = constant_text(value);
  return facts;
}

Facts memory_facts(const Manifest& manifest, const std::vector<const MethodSpec*>& methods) {
  const Footprint footprint = footprint_of(manifest);
  Facts facts = {{"program", bytes_text(footprint.program_bytes)},
                 {"state", bytes_text(footprint.state_bytes)}};
  for (const MethodSpec* const method : methods)
    facts["activations of " + method->name] = bytes_text(method->activation_bytes);
  return facts;
}

Facts file_facts(const Artifact& artifact) {
  Facts facts;
  for (const auto& [name, bytes] : file_sizes(artifact)) {
    const auto digest = artifact.digests().find(name);
    const Sha256& hash = digest == artifact.digests().end() ? artifact.digest() : digest->second;
    facts[name] = bytes_text(bytes) + ", SHA-256 " + to_hex(hash).substr(0, kDigits);
  }
  return facts;
}

}  // namespace

Result<std::vector<FactSection>> facts_of(const Artifact& artifact,
                                          const std::vector<std::string>& methods) {
  const Manifest& manifest = artifact.manifest();
  std::vector<const MethodSpec*> told;
  for (const MethodSpec& method : manifest.methods) {
    if (std::ranges::find(methods, method.name) != methods.end()) told.push_back(&method);
  }
  std::vector<FactSection> sections = {
      {"Program", program_facts(manifest)},   {"Methods", method_facts(manifest)},
      {"Signatures", signature_facts(told)},  {"Contract", contract_facts(told)},
      {"State", state_facts(manifest, told)}, {"Constants", constant_facts(manifest)}};
  if (has_operators(artifact)) {
    const Result<program::Program> program = program_of(artifact);
    if (!program) return program.error();
    sections.push_back({"Operators", operator_facts(*program, methods)});
    Result<Facts> weights = weight_facts(*program, artifact.program()->bytes().size());
    if (!weights) return weights.error();
    sections.push_back({"Weights", *std::move(weights)});
  } else {
    Result<Facts> entries = archive_facts(artifact);
    if (!entries) return entries.error();
    sections.push_back({"Operators", {}});
    sections.push_back({"Weights", *std::move(entries)});
  }
  sections.push_back({"Memory", memory_facts(manifest, told)});
  sections.push_back({"Files", file_facts(artifact)});
  return sections;
}

}  // namespace polystate::cli
