#include "polystate/artifact/manifest.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/manifest_with_pairs.h"
#include "artifact/tiny_artifact.h"
#include "polystate/artifact/expression.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

// An expression of a method as text; "?" where there is none.
std::string text_of(const std::optional<Expression>& expression, const MethodSpec& method) {
  return expression ? expression->to_string(symbol_names(method)) : "?";
}

Manifest tiny() { return Manifest::parse(tiny_manifest()).value(); }

TEST(Manifest, KeepsWhatTheProgramIs) {
  const Manifest manifest = tiny();
  EXPECT_EQ(manifest.format_version, 1);
  EXPECT_EQ(manifest.versions.at("torch"), "2.13.0");
  EXPECT_EQ(manifest.program.engine, "executorch");
  EXPECT_EQ(manifest.program.file, "model.pte");
  EXPECT_EQ(manifest.program.backend, "xnnpack");
  EXPECT_EQ(manifest.program.quantization, "");
  EXPECT_EQ(manifest.program.operators, (std::vector<std::string>{"aten::add.out"}));
  EXPECT_EQ(manifest.program.delegates, (std::vector<std::string>{"XnnpackBackend"}));
  EXPECT_EQ(manifest.files.at("model.pte"), 100);
}

TEST(Manifest, KeepsConstantsWithTheirTypes) {
  const Manifest manifest = tiny();
  EXPECT_EQ(std::get<std::int64_t>(manifest.constants.at("max_length")), 64);
  EXPECT_EQ(std::get<double>(manifest.constants.at("scale")), -0.5);
  EXPECT_EQ(std::get<bool>(manifest.constants.at("tied")), true);
  EXPECT_EQ(std::get<std::string>(manifest.constants.at("task")), "toy");
}

TEST(Manifest, AProgramHasPairsForComplexTensors) {
  Manifest manifest = tiny();
  manifest.state[0].dtype = DType::kComplex128;
  MethodSpec& method = manifest.methods[0];
  method.inputs[0].dtype = DType::kComplex64;
  method.outputs[0].dtype = DType::kComplex64;
  const std::size_t rank = method.inputs[0].shape.size();
  const Manifest pairs = manifest_with_pairs(manifest);
  EXPECT_EQ(pairs.state[0].dtype, DType::kFloat64);
  EXPECT_EQ(pairs.state[0].shape, (Shape{10, 20, 2}));
  EXPECT_EQ(pairs.state[1].shape, Shape{});
  const InputSpec& input = pairs.methods[0].inputs[0];
  EXPECT_EQ(input.dtype, DType::kFloat32);
  ASSERT_EQ(input.shape.size(), rank + 1);
  EXPECT_EQ(text_of(input.shape.back(), pairs.methods[0]), "2");
  const OutputSpec& output = pairs.methods[0].outputs[0];
  EXPECT_EQ(output.dtype, DType::kFloat32);
  EXPECT_EQ(text_of(output.shape.back(), pairs.methods[0]), "2");
}

TEST(Manifest, KeepsStates) {
  const Manifest manifest = tiny();
  ASSERT_EQ(manifest.state.size(), 2);
  EXPECT_EQ(manifest.state[0].name, "cache");
  EXPECT_EQ(manifest.state[0].dtype, DType::kFloat32);
  EXPECT_EQ(manifest.state[0].shape, (Shape{10, 20}));
  EXPECT_TRUE(manifest.state[0].zeros);
  EXPECT_EQ(manifest.state[1].shape, Shape{});
  EXPECT_FALSE(manifest.state[1].zeros);
  EXPECT_EQ(manifest.state[1].preview, "7");
}

TEST(Manifest, KeepsSymbolsAndInputs) {
  const MethodSpec method = tiny().methods[0];
  EXPECT_EQ(symbol_names(method), (std::vector<std::string>{"batch", "half"}));
  const Symbol& half = method.symbols[1];
  EXPECT_EQ(half.input, 1);
  EXPECT_EQ(half.dimension, 0);
  EXPECT_EQ(half.min, 0);
  EXPECT_EQ(half.max, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(half.scale, 2);
  EXPECT_EQ(half.offset, 1);
  ASSERT_EQ(method.inputs.size(), 3);
  EXPECT_EQ(text_of(method.inputs[0].shape[1], method), "3 * batch");
  EXPECT_EQ(method.inputs[0].written_from, std::nullopt);
  const InputSpec& position = method.inputs[1];
  EXPECT_EQ(position.dtype, DType::kInt64);
  EXPECT_EQ(position.written_from, 0);
  ASSERT_EQ(position.values.size(), 1);
  EXPECT_EQ(text_of(position.values[0].min, method), "0");
  EXPECT_EQ(text_of(position.values[0].max, method), "batch - 1");
  EXPECT_EQ(position.values[0].reason, "indexes dimension 0 of 'cache'");
}

TEST(Manifest, KeepsOutputsGuardsChecksAndStateUse) {
  const MethodSpec method = tiny().methods[0];
  ASSERT_EQ(method.outputs.size(), 2);
  EXPECT_EQ(method.outputs[0].program_output, 2);
  EXPECT_EQ(text_of(method.outputs[0].shape[0], method), "batch");
  EXPECT_EQ(text_of(method.outputs[0].shape[1], method), "?");
  EXPECT_EQ(method.guards[0].text, "batch % 2 == 0");
  EXPECT_EQ(method.guards[0].source, "model.py:12");
  EXPECT_EQ(method.checks[1].id, 4);
  EXPECT_EQ(method.reads, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(method.writes[0].state, 1);
  EXPECT_EQ(method.writes[0].update, StateUpdate::kInPlace);
  EXPECT_TRUE(method.atomic);
  EXPECT_EQ(method.activation_bytes, 4096);
}

TEST(Manifest, KeepsTheGoldenCalls) {
  const GoldenSpec golden = tiny().golden.value_or(GoldenSpec{});
  EXPECT_EQ(golden.file, "golden.npz");
  EXPECT_EQ(golden.calls, (std::vector<std::string>{"set_cache", "get_cache"}));
  EXPECT_EQ(golden.relative_tolerance, 1e-5);
  EXPECT_EQ(golden.absolute_tolerance, 0);
}

TEST(Manifest, FindsMethodsAndStatesByName) {
  const Manifest manifest = tiny();
  EXPECT_EQ(manifest.method_index("get_cache").value(), 1);
  EXPECT_EQ(manifest.state_index("step.count").value(), 1);
}

TEST(Manifest, AnUnknownNameIsAnsweredWithTheNamesThereAre) {
  const Manifest manifest = tiny();
  const Result<std::size_t> method = manifest.method_index("encode");
  ASSERT_FALSE(method);
  EXPECT_EQ(method.error().code, ErrorCode::kContract);
  EXPECT_EQ(method.error().message, "there is no method 'encode'; there are set_cache, get_cache");
  EXPECT_EQ(manifest.state_index("Cache").error().message,
            "there is no state 'Cache'; there are cache, step.count");
}

TEST(Manifest, AModelWithoutStateSaysSo) {
  Manifest manifest = tiny();
  manifest.state.clear();
  EXPECT_EQ(manifest.state_index("cache").error().message,
            "there is no state 'cache'; there are none");
}

std::string error_of(std::string_view before, const std::string& after) {
  const Result<Manifest> manifest = Manifest::parse(edited_manifest(before, after));
  return manifest ? "(no error)" : manifest.error().message;
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += (i == 0 ? "" : ", ") + text;
  return all;
}

TEST(Manifest, ListsHaveLimits) {
  EXPECT_EQ(error_of(R"("calls": ["set_cache", "get_cache"])",
                     R"("calls": [)" + repeated(R"("get_cache")", Manifest::kMaxGoldenCalls) + "]"),
            "(no error)");
  EXPECT_EQ(
      error_of(R"("calls": ["set_cache", "get_cache"])",
               R"("calls": [)" + repeated(R"("get_cache")", Manifest::kMaxGoldenCalls + 1) + "]"),
      "golden.calls: has 4097 elements; the limit is 4096");
  EXPECT_EQ(error_of(R"("symbols": [],)",
                     R"("symbols": [)" + repeated("{}", Manifest::kMaxSymbols + 1) + "],"),
            "methods[1].symbols: has 65 elements; the limit is 64");
  EXPECT_EQ(
      error_of(R"("methods": [)", R"("methods": [)" + repeated("{}", Manifest::kMaxMethods) + ","),
      "methods: has 1026 elements; the limit is 1024");
}

TEST(Manifest, AnExpressionThatIsNestedWithoutEndIsRefused) {
  const std::string bomb(100000, '[');
  EXPECT_TRUE(error_of(R"(["==", ["%", "batch", 2], 0])", bomb)
                  .ends_with("values are nested deeper than 128"));
}

TEST(Manifest, ANewerVersionIsUnsupportedWhateverElseItHolds) {
  const Result<Manifest> manifest =
      Manifest::parse(R"({"format": "polystate", "format_version": 2, "something_new": {}})");
  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(manifest.error().message,
            "format_version: is 2, made by a newer polystate: this one reads version 1");
}

}  // namespace
}  // namespace polystate
