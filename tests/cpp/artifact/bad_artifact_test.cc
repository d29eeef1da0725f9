// Artifacts whose digests are right and whose manifest is wrong in one place: each is refused at
// open, with a message of its own.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <ostream>
#include <set>
#include <string>
#include <string_view>

#include "artifact/tiny_artifact.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

// What is replaced in the manifest, and what the message says after the manifest's path.
struct BadManifest {
  std::string_view before;
  std::string_view after;
  std::string_view message;
};

std::ostream& operator<<(std::ostream& out, const BadManifest& bad) { return out << bad.after; }

constexpr auto kBadManifests = std::to_array<BadManifest>({
    // The document.
    {R"("format": "polystate",)", R"("format": "onnx",)",
     R"(format: is "onnx"; an artifact says "polystate")"},
    {R"("format_version": 1)", R"("format_version": 2)",
     "format_version: is 2, made by a newer polystate: this one reads version 1"},
    {R"("format_version": 1)", R"("format_version": 0)",
     "format_version: is 0; the smallest allowed is 1"},
    {R"("format_version": 1)", R"("format_version": "1")",
     R"(format_version: must be an integer, is "1")"},
    {R"("format_version": 1,)", R"()", R"(the key "format_version" is missing)"},
    {R"("constants": {)", R"("comment": 1, "constants": {)", R"(the key "comment" is unknown)"},
    {R"("constants": {)", R"("state": [], "constants": {)", R"(the key "state" occurs twice)"},
    {R"("torch": "2.13.0")", R"("torch": "")", "versions.torch: must not be empty"},
    {R"("torch": "2.13.0")", R"("torch": null)", "versions.torch: must be a string, is null"},
    // The program and the files.
    {R"("executorch")", R"("onnx")",
     R"(program.engine: "onnx" is neither "executorch" nor "aoti")"},
    {R"("file": "model.pte")", R"("file": "../model.pte")",
     R"(program.file: "../model.pte" is not a file name (letters, digits, '.', '_' and '-'))"},
    {R"("file": "model.pte")", R"("file": "other.pte")",
     R"(program.file: "other.pte" is not one of the files)"},
    {R"("quantization": null)", R"("quantization": "")", "program.quantization: must not be empty"},
    {R"(["aten::add.out"])", R"(["aten::add\u001b.out"])",
     R"(program.operators[0]: the text "aten::add\u001b.out" has control characters)"},
    {R"(["XnnpackBackend"])", R"("XnnpackBackend")",
     R"(program.delegates: must be an array, is "XnnpackBackend")"},
    {R"("model.pte": 100)", R"("model.pte": 0)",
     R"(files["model.pte"]: is 0; the smallest allowed is 1)"},
    {R"("model.pte": 100)", R"("model.pte": -100)",
     R"(files["model.pte"]: is -100; the smallest allowed is 1)"},
    {R"("model.pte": 100)", R"("model.pte": 1e2)",
     R"(files["model.pte"]: must be an integer, is 100.0)"},
    {R"("files": {)", R"("files": {"a/b": 1, )",
     R"(files: "a/b" is not a file name (letters, digits, '.', '_' and '-'))"},
    {R"("files": {)", R"("files": {"..": 1, )",
     R"(files: ".." is not a file name (letters, digits, '.', '_' and '-'))"},
    {R"("files": {)", R"("files": {"manifest.json": 1, )",
     R"(files: "manifest.json" is not listed here)"},
    // Constants and states.
    {R"("tied": true)", R"("tied": [true])", "constants.tied: must be a number, is an array of 1"},
    {R"("max_length": 64)", R"("max length": 64)",
     R"(constants: "max length" is not a name (words with dots between))"},
    {R"("max_length": 64)", R"("max_length": 9223372036854775808)",
     "constants.max_length: is 9223372036854775808; the largest allowed is 9223372036854775807"},
    {R"("name": "cache")", R"("name": "")",
     R"(state[0].name: "" is not a name (words with dots between))"},
    {R"("name": "cache")", R"("name": "a..b")",
     R"(state[0].name: "a..b" is not a name (words with dots between))"},
    {R"("name": "cache")", R"("name": "step.count")",
     R"(state[1]: the name "step.count" is that of element 0 too)"},
    {R"("dtype": "float32", "shape": [10, 20])", R"("dtype": "float31", "shape": [10, 20])",
     R"(state[0].dtype: "float31" is not a dtype)"},
    {R"("shape": [10, 20])", R"("shape": [10, -20])",
     "state[0].shape[1]: is -20; the smallest allowed is 0"},
    {R"("shape": [10, 20])", R"("shape": [10, "batch"])",
     R"(state[0].shape[1]: must be an integer, is "batch")"},
    {R"("shape": [10, 20])", R"("shape": [4294967296, 4294967296])",
     "state[0].shape: [4294967296, 4294967296] needs more than 2**63 - 1 bytes"},
    {R"("shape": [10, 20])", R"("shape": [2305843009213693951])",
     "state: all states together need more than 2**63 - 1 bytes"},
    {R"("shape": [10, 20])", R"("shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])",
     "state[0].shape: has 17 elements; the limit is 16"},
    {R"("initial": "zeros")", R"("initial": "ones")",
     R"(state[0].initial: "ones" is neither "zeros" nor "stored")"},
    {R"("preview": "7")", R"("preview": 7)", "state[1].preview: must be a string, is 7"},
    // Methods.
    {R"("name": "set_cache")", R"("name": "set cache")",
     R"(methods[0].name: "set cache" is not an identifier)"},
    {R"("name": "set_cache")", R"("name": "get_cache")",
     R"(methods[1]: the name "get_cache" is that of element 0 too)"},
    {R"("atomic": true)", R"("atomic": 1)", "methods[0].atomic: must be true or false, is 1"},
    {R"("activation_bytes": 4096)", R"("activation_bytes": -1)",
     "methods[0].activation_bytes: is -1; the smallest allowed is 0"},
    {R"("activation_bytes": 4096)", R"("activation_bytes": 4096, "extra": {})",
     R"(methods[0]: the key "extra" is unknown)"},
    {R"("name": "get_cache",)", R"()", R"(methods[1]: the key "name" is missing)"},
    // Symbols.
    {R"("name": "half")", R"("name": "batch")",
     R"(methods[0].inputs[1].shape[0][1][2]: "half" is not a symbol of this method, which has batch, batch)"},
    {R"("name": "half")", R"("name": "2half")",
     R"(methods[0].symbols[1].name: "2half" is not an identifier)"},
    {R"("input": 1)", R"("input": 3)",
     "methods[0].symbols[1].input: is 3; it must be below 3, the number of inputs"},
    {R"("input": 1)", R"("input": -1)",
     "methods[0].symbols[1].input: is -1; it must be below 3, the number of inputs"},
    {R"("input": 1, "dimension": 0)", R"("input": 1, "dimension": 1)",
     R"(methods[0].symbols[1].dimension: is 1; input "position" has rank 1)"},
    {R"("min": 1, "max": 10,)", R"("min": 11, "max": 10,)",
     "methods[0].symbols[0]: min 11 is above max 10"},
    {R"("min": 1, "max": 10,)", R"("min": -1, "max": 10,)",
     "methods[0].symbols[0].min: is -1; the smallest allowed is 0"},
    {R"("scale": 2)", R"("scale": 0)",
     "methods[0].symbols[1].scale: is 0; the smallest allowed is 1"},
    {R"("scale": 2)", R"("scale": 3)",
     R"(methods[0].symbols[1]: dimension 0 of input "position" is 2 * half + 1; for this symbol it must be 3 * half + 1)"},
    {R"("offset": 1})", R"("offset": -1})",
     R"(methods[0].symbols[1]: dimension 0 of input "position" is 2 * half + 1; for this symbol it must be 2 * half - 1)"},
    {R"("max": 9223372036854775807)", R"("max": 9223372036854775806)",
     "methods[0].symbols[1]: the largest size, 2 * half + 1 with half = 9223372036854775806, "
     "does not fit 64 bits"},
    {R"(["batch", ["*", 3, "batch"], 20])", R"([6, ["*", 3, "batch"], 20])",
     R"(methods[0].symbols[0]: dimension 0 of input "data" is 6; for this symbol it must be batch)"},
    {R"(["batch", ["*", 3, "batch"], 20])", R"([["max", "batch", "half"], ["*", 3, "batch"], 20])",
     R"(methods[0].symbols[0]: dimension 0 of input "data" is max(batch, half); for this symbol it must be batch)"},
    // Inputs.
    {R"("name": "position")", R"("name": "data")",
     R"(methods[0].inputs[1]: the name "data" is that of element 0 too)"},
    {R"(["*", 3, "batch"])", R"(["*", 3, "length"])",
     R"(methods[0].inputs[0].shape[1][2]: "length" is not a symbol of this method, which has batch, half)"},
    {R"(["*", 3, "batch"])", R"(["-", 3, "batch"])",
     R"(methods[0].inputs[0].shape[1][0]: "-" is not an operator)"},
    {R"(["*", 3, "batch"])", R"(["*", 3])",
     "methods[0].inputs[0].shape[1]: operator * takes 2 or more operands, has 1"},
    {R"("shape": [4])", R"("shape": [-4])",
     "methods[0].inputs[2].shape[0]: is -4; a size is not negative"},
    {R"("shape": [4])", R"("shape": [null])",
     "methods[0].inputs[2].shape[0]: must be an integer, a symbol's name or an operation, is "
     "null"},
    {R"("shape": [4])", R"("shape": [4611686018427387904, 4])",
     "methods[0].inputs[2].shape: [4611686018427387904, 4] needs more than 2**63 - 1 bytes"},
    {R"("values": [], "written_from": 1)",
     R"("values": [{"min": 0, "max": 1, "reason": "is a bit"}], "written_from": 1)",
     "methods[0].inputs[2].values: only the elements of integer inputs have limits; this one is "
     "float32"},
    {R"("min": 0, "max": ["+", "batch", -1])", R"("min": null, "max": null)",
     "methods[0].inputs[1].values[0]: min and max are both null"},
    {R"("min": 0, "max": ["+", "batch", -1])", R"("min": 5, "max": 4)",
     "methods[0].inputs[1].values[0]: min 5 is above max 4"},
    {R"("reason": "indexes dimension 0 of 'cache'")", R"("reason": "")",
     "methods[0].inputs[1].values[0].reason: must not be empty"},
    {R"("written_from": 1)", R"("written_from": 2)",
     "methods[0].inputs[2].written_from: is 2; the program's outputs begin with the mutated "
     "inputs, so it must be below 2, their number"},
    {R"("written_from": 1)", R"("written_from": 0)",
     R"(methods[0].inputs[2].written_from: is 0, as that of input "position")"},
    // Outputs.
    {R"("name": "1", "dtype": "int64")", R"("name": "0", "dtype": "int64")",
     R"(methods[0].outputs[1]: the name "0" is that of element 0 too)"},
    {R"("program_output": 2)", R"("program_output": -1)",
     "methods[0].outputs[0].program_output: is -1; the smallest allowed is 0"},
    {R"("program_output": 2)", R"("program_output": 1024)",
     "methods[0].outputs[0].program_output: is 1024; the largest allowed is 1023"},
    {R"("program_output": 2)", R"("program_output": 1)",
     R"(methods[0].outputs[0]: dtype or shape differ from those of input "scratch.0", which has the same program_output)"},
    {R"("program_output": 0)", R"("program_output": 2)",
     R"(methods[0].outputs[1]: dtype or shape differ from those of output "0", which has the same program_output)"},
    {R"(["batch", null])", R"(["batch", "length"])",
     R"(methods[0].outputs[0].shape[1]: "length" is not a symbol of this method, which has batch, half)"},
    // Guards, checks, states.
    {R"(["==", ["%", "batch", 2], 0])", R"([])",
     "methods[0].guards[0].condition: an expression must not be an empty array"},
    {R"("text": "batch % 2 == 0")", R"("text": "")",
     "methods[0].guards[0].text: must not be empty"},
    {R"("id": 4)", R"("id": 3)", R"(methods[0].checks[1]: the id "3" is that of element 0 too)"},
    {R"("id": 4)", R"("id": -4)", "methods[0].checks[1].id: is -4; the smallest allowed is 0"},
    {R"("reads": [0, 1])", R"("reads": [0, 2])",
     "methods[0].reads[1]: is 2; it must be below 2, the number of states"},
    {R"("reads": [0, 1])", R"("reads": [1, 1])",
     R"(methods[0].reads[1]: the state "1" is that of element 0 too)"},
    {R"([{"state": 1, )", R"([{"state": 2, )",
     "methods[0].writes[0].state: is 2; it must be below 2, the number of states"},
    {R"([{"state": 1, )", R"([{"state": 1, "update": "in_place", "reason": ""}, {"state": 1, )",
     R"(methods[0].writes[1]: the state "1" is that of element 0 too)"},
    {R"("update": "in_place")", R"("update": "later")",
     R"(methods[0].writes[0].update: "later" is neither "in_place" nor "written_back")"},
    // Golden calls.
    {R"("calls": ["set_cache", "get_cache"])", R"("calls": ["set_cache", "encode"])",
     R"(golden.calls[1]: "encode" is not a method)"},
    {R"("golden": {"file": "golden.npz")", R"("golden": {"file": "silver.npz")",
     R"(golden.file: "silver.npz" is not one of the files)"},
    {R"("golden": {"file": "golden.npz")", R"("golden": {"file": "model.pte")",
     "golden.file: is the program's file"},
    {R"("absolute_tolerance": 0)", R"("absolute_tolerance": -1e-9)",
     "golden.absolute_tolerance: is -1e-09; it must not be negative"},
    {R"("relative_tolerance": 1e-5)", R"("relative_tolerance": 1e999)",
     "not JSON: number overflow parsing '1e999'"},
});

class BadArtifact : public testing::TestWithParam<BadManifest> {};

TEST_P(BadArtifact, IsRefusedWithAMessageOfItsOwn) {
  const TemporaryFolder folder;
  TinyArtifact artifact;
  artifact.files["manifest.json"] = edited_manifest(GetParam().before, GetParam().after);
  artifact.seal();
  artifact.write(folder / "bad");
  const Result<Artifact> opened = Artifact::open(folder / "bad");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "'" + (folder / "bad/manifest.json").string() +
                                        "': " + std::string(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Manifests, BadArtifact, testing::ValuesIn(kBadManifests));

TEST(BadArtifacts, NoTwoMessagesAreTheSame) {
  std::set<std::string_view> messages;
  for (const BadManifest& bad : kBadManifests) messages.insert(bad.message);
  EXPECT_EQ(messages.size(), kBadManifests.size());
}

// The tables of files: manifest.json and SHA256SUMS must agree, and the files with both.

std::string message_of(const TinyArtifact& artifact) {
  const TemporaryFolder folder;
  artifact.write(folder / "bad");
  const Result<Artifact> opened = Artifact::open(folder / "bad");
  if (opened) return "(no error)";
  std::string message = opened.error().message;
  const std::string path = folder.path().string() + '/';
  for (std::size_t at = message.find(path); at != std::string::npos; at = message.find(path))
    message.erase(at, path.size());
  return message;
}

TEST(BadArtifacts, AFileThatOnlyTheManifestListsIsRefused) {
  TinyArtifact artifact;
  artifact.files.erase("golden.npz");
  artifact.seal();
  EXPECT_EQ(message_of(artifact),
            "'bad': SHA256SUMS does not list 'golden.npz', which manifest.json has");
}

TEST(BadArtifacts, AFileThatOnlyTheDigestsListIsRefused) {
  TinyArtifact artifact;
  artifact.files["tokenizer.json"] = "{}";
  artifact.seal();
  EXPECT_EQ(message_of(artifact),
            "'bad': SHA256SUMS lists 'tokenizer.json', which manifest.json does not have");
}

TEST(BadArtifacts, AFileOfAnotherSizeThanTheManifestSaysIsRefused) {
  TinyArtifact artifact;
  artifact.files["model.pte"] += 'p';
  artifact.seal();
  EXPECT_EQ(message_of(artifact), "'bad/model.pte' has 101 bytes; manifest.json says 100");
}

TEST(BadArtifacts, DigestsThatDoNotListTheManifestAreRefused) {
  TinyArtifact artifact;
  const std::string manifest = artifact.files["manifest.json"];
  artifact.files.erase("manifest.json");
  artifact.seal();
  artifact.files["manifest.json"] = manifest;
  EXPECT_EQ(message_of(artifact), "'bad/SHA256SUMS' does not list manifest.json");
}

}  // namespace
}  // namespace polystate
