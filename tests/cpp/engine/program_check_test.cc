#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "engine/altered_artifact.h"
#include "engine/engine_factory.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"

// Artifacts with valid digests whose manifest and program do not belong together.
namespace polystate {
namespace {

using ::testing::HasSubstr;

// What opening the engine and a session says.
Error refusal(const AlteredArtifact& altered) {
  const Result<Artifact> artifact = altered.open();
  if (!artifact) {
    ADD_FAILURE() << "refused too early: " << artifact.error().message;
    return artifact.error();
  }
  const auto engine = make_engine(*artifact, {});
  if (!engine) {
    return engine.error();
  }
  const auto session = (*engine)->new_session({});
  return session ? Error{ErrorCode::kIo, "nothing was refused"} : session.error();
}

void expect_refusal(const AlteredArtifact& altered, ErrorCode code, const std::string& message) {
  const Error error = refusal(altered);
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_THAT(error.message, HasSubstr(message));
}

TEST(ProgramCheck, RefusesAMethodThatTheProgramLacks) {
  expect_refusal(AlteredArtifact("counter").replace("\"plus_one\"", "\"plus_two\""),
                 ErrorCode::kArtifact,
                 "model.pte: method 'plus_two' is in manifest.json, but not in the program");
}

TEST(ProgramCheck, RefusesAnInputOfAnotherType) {
  expect_refusal(
      AlteredArtifact("counter").replace("float32", "float64", "\"plus_one\""),
      ErrorCode::kArtifact,
      "method 'plus_one', input 0 'args_0': manifest.json says float64, the program float32");
}

TEST(ProgramCheck, RefusesAnInputOfAnotherSize) {
  expect_refusal(
      AlteredArtifact("counter").replace("4", "5", "\"plus_one\""), ErrorCode::kArtifact,
      "method 'plus_one', input 0 'args_0', dimension 0: manifest.json says 5, the program 4");
}

TEST(ProgramCheck, RefusesAnInputOfAnotherRank) {
  expect_refusal(AlteredArtifact("counter").replace("4", "4, 1", "\"plus_one\""),
                 ErrorCode::kArtifact,
                 "input 0 'args_0': manifest.json says 2 dimensions, the program 1");
}

TEST(ProgramCheck, RefusesAnotherNumberOfInputs) {
  expect_refusal(AlteredArtifact("writing").replace(
                     "\"inputs\": [", R"("inputs": [{"name": "extra", "dtype": "float32",
                      "shape": [3], "values": [], "written_from": null}, )"),
                 ErrorCode::kArtifact,
                 "method 'double': manifest.json says 2 inputs, the program 1");
}

TEST(ProgramCheck, RefusesAnOutputThatTheProgramLacks) {
  expect_refusal(
      AlteredArtifact("counter").replace("\"program_output\": 0", "\"program_output\": 1",
                                         "\"raw\""),
      ErrorCode::kArtifact,
      "method 'raw', output 0 '0': manifest.json says program output 1, the program has 1");
}

TEST(ProgramCheck, RefusesAnOutputOfAnotherType) {
  expect_refusal(AlteredArtifact("counter").replace("\"int64\"", "\"int32\"", "\"name\": \"get\""),
                 ErrorCode::kArtifact,
                 "method 'get', output 0 '0': manifest.json says int32, the program int64");
}

TEST(ProgramCheck, RefusesAnOutputOfAnotherSize) {
  expect_refusal(AlteredArtifact("counter").replace("4", "5", "\"name\": \"raw\""),
                 ErrorCode::kArtifact,
                 "method 'raw', output 0 '0', dimension 0: manifest.json says 5, the program 4");
}

TEST(ProgramCheck, RefusesAWrittenInputWhoseSourceIsOfAnotherKind) {
  // The program's output 0 of `flip` is no float: say that an input is written from it.
  expect_refusal(AlteredArtifact("writing").replace("\"float32\"", "\"int64\"", "\"swap\""),
                 ErrorCode::kArtifact, "method 'swap', input 0");
}

TEST(ProgramCheck, RefusesAnOperatorThatThisBuildLacks) {
  expect_refusal(
      AlteredArtifact("counter").replace("aten::add.out", "aten::unheard_of.out"),
      ErrorCode::kUnsupported,
      "model.pte: the program needs the operator 'aten::unheard_of.out', which this build "
      "lacks");
}

TEST(ProgramCheck, RefusesAnEngineOfMachineCodeThatIsNotTrusted) {
  const Result<Artifact> artifact =
      AlteredArtifact("counter").replace("\"executorch\",", "\"aoti\",", "\"program\"").open();
  ASSERT_TRUE(artifact) << artifact.error().message;
  const auto engine = make_engine(*artifact, {});
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, ErrorCode::kArtifact);
  EXPECT_THAT(engine.error().message, HasSubstr("trust_code"));
}

TEST(ProgramCheck, RefusesAStateOfAnotherShape) {
  expect_refusal(AlteredArtifact("counter").replace("4", "2, 2", "\"total\""), ErrorCode::kArtifact,
                 "state 'total': manifest.json says 2 dimensions");
  expect_refusal(AlteredArtifact("counter").replace("4", "5", "\"total\""), ErrorCode::kArtifact,
                 "state 'total', dimension 0: manifest.json says 5, the program 4");
}

TEST(ProgramCheck, RefusesAStateOfAnotherType) {
  expect_refusal(AlteredArtifact("counter").replace("\"int64\"", "\"int32\"", "\"count\""),
                 ErrorCode::kArtifact,
                 "state 'count': manifest.json says int32, the program int64");
}

TEST(ProgramCheck, RefusesAStateThatTheManifestDoesNotKnow) {
  expect_refusal(AlteredArtifact("counter").replace("\"total\"", "\"sum\""), ErrorCode::kArtifact,
                 "state 'total' is in the program, but not in manifest.json");
}

TEST(ProgramCheck, RefusesAProgramThatIsNone) {
  AlteredArtifact altered("counter");
  expect_refusal(altered.replace_program("not a program"), ErrorCode::kArtifact,
                 "model.pte is no valid program: ");
  expect_refusal(altered.replace_program(std::string(1000, '\0')), ErrorCode::kArtifact,
                 "model.pte is no valid program: ");
}

TEST(ProgramCheck, AReasonFollowsAColonOnlyWhereThereIsOne) {
  AlteredArtifact altered("counter");
  for (const std::string& program : {std::string("p"), std::string(8, 'p'), std::string(64, 'p')}) {
    EXPECT_THAT(refusal(altered.replace_program(program)).message,
                ::testing::Not(::testing::EndsWith(": ")));
  }
}

// The program whose first operator has no name: its vtable (https://flatbuffers.dev/internals) says
// so.
std::string without_operator_name(std::string program) {
  const auto number = [&program](std::size_t at, std::size_t size) {
    std::int32_t value = 0;  // distances to vtables may be negative
    std::memcpy(&value, program.data() + at, size);
    return static_cast<std::size_t>(value);
  };
  const auto target = [&](std::size_t at) { return at + number(at, 4); };
  const auto field = [&](std::size_t table, std::size_t index) {
    return target(table + number(table - number(table, 4) + 4 + 2 * index, 2));
  };
  const std::size_t plans = field(target(0), 1);
  const std::size_t operators = field(target(plans + 4), 6);
  const std::size_t first = target(operators + 4);
  program.replace(first - number(first, 4) + 4, 2, 2, '\0');
  return program;
}

TEST(ProgramCheck, RefusesAnOperatorWithoutAName) {
  AlteredArtifact altered("counter");
  expect_refusal(altered.replace_program(without_operator_name(altered.program())),
                 ErrorCode::kArtifact, "model.pte: method 0: operator 0 has no name");
}

TEST(ProgramCheck, RefusesATruncatedProgram) {
  AlteredArtifact altered("counter");
  const std::string whole = altered.program();
  for (const std::size_t size : {whole.size() / 4, whole.size() / 2, whole.size() - 100}) {
    const Error error = refusal(altered.replace_program(whole.substr(0, size)));
    EXPECT_EQ(error.code, ErrorCode::kArtifact) << size << ": " << error.message;
  }
}

}  // namespace
}  // namespace polystate
