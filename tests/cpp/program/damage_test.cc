// Whatever the bytes of a program are, reading it ends with a typed error or a program that can be
// drawn, and touches nothing else (which the sanitizers see).

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/report/document.h"
#include "polystate/report/render.h"
#include "program/fixture_program.h"
#include "program/operator_counts.h"
#include "program/pictures.h"
#include "program/program.h"
#include "program/weights.h"

namespace polystate::program {
namespace {

// Everything that commands do with a program.
void use(std::span<const std::byte> bytes) {
  // A copy without room behind it, so that reading past the end is seen.
  const std::vector<std::byte> exact(bytes.begin(), bytes.end());
  const Result<Program> program = read_program(exact);
  if (!program) {
    EXPECT_EQ(program.error().code, ErrorCode::kArtifact) << program.error().message;
    return;
  }
  for (const Weight& weight : weights_of(*program)) EXPECT_LE(weight.bytes.size(), bytes.size());
  for (const Method& method : program->methods) {
    EXPECT_FALSE(report::graph_dot(graph_of(method, {})).empty());
    EXPECT_FALSE(report::graph_svg(graph_of(method, {})).empty());
    for (const report::PlannedBlock& block : memory_plan_of(method).blocks)
      EXPECT_LT(block.last, method.instructions.size());
    state_timeline_of(method);
    operator_counts(method);
  }
}

TEST(ProgramDamage, EveryTruncationIsAnErrorOrAProgram) {
  const FixtureProgram counter("counter");
  const auto bytes = counter.bytes();
  for (std::size_t size = 0; size < bytes.size(); size += size < 128 ? 1 : 13)
    use(bytes.first(size));
}

TEST(ProgramDamage, ChangedBytesAreAnErrorOrAProgram) {
  std::mt19937 random(3);  // NOLINT(bugprone-random-generator-seed): the same in every run
  for (const char* const name : {"counter", "cache", "layered"}) {
    const FixtureProgram fixture(name);
    for (int round = 0; round < 400; ++round) {
      std::vector<std::byte> bytes(fixture.bytes().begin(), fixture.bytes().end());
      for (std::size_t i = 0; i <= random() % 3; ++i)
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      use(bytes);
    }
  }
}

TEST(ProgramDamage, ChangedWordsAreAnErrorOrAProgram) {
  std::mt19937 random(4);  // NOLINT(bugprone-random-generator-seed): the same in every run
  const FixtureProgram fixture("cache");
  constexpr std::array<std::uint32_t, 8> kOdd = {0,          1,          4,          8,
                                                 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF};
  for (int round = 0; round < 800; ++round) {
    std::vector<std::byte> bytes(fixture.bytes().begin(), fixture.bytes().end());
    const std::size_t place = random() % (bytes.size() / 4) * 4;
    const std::uint32_t word = kOdd.at(random() % kOdd.size());
    std::memcpy(bytes.data() + place, &word, sizeof(word));
    use(bytes);
  }
}

// A file of `count` methods that are one table, with `count` values that are another.
std::vector<std::uint32_t> shared_tables(std::uint32_t count) {
  constexpr std::uint32_t kMethods = 16;  // words: the vector of methods
  const std::uint32_t plan = kMethods + 1 + count;
  const std::uint32_t value = plan + 3 + count;
  std::vector<std::uint32_t> words(value + 1, 0);
  const auto bytes = std::as_writable_bytes(std::span(words));
  const auto write = [&](std::size_t place, std::initializer_list<std::uint16_t> numbers) {
    for (const std::uint16_t number : numbers) {
      std::memcpy(bytes.data() + place, &number, sizeof(number));
      place += sizeof(number);
    }
  };
  // An offset counts from where it stands.
  const auto point = [&](std::uint32_t from, std::uint32_t to) { words[from] = 4 * (to - from); };
  std::memcpy(bytes.data() + 4, "ET12", 4);
  write(12, {8, 8, 0, 4});      // the root's vtable: field 1 is at 4
  write(20, {10, 8, 0, 0, 4});  // a method's: field 2 is at 4
  write(30, {4, 4});            // a value's: nothing
  words[0] = 40;                // the root
  words[10] = 40 - 12;
  point(11, kMethods);
  words[kMethods] = count;
  for (std::uint32_t i = 1; i <= count; ++i) point(kMethods + i, plan);
  words[plan] = 4 * plan - 20;
  point(plan + 1, plan + 2);
  words[plan + 2] = count;
  for (std::uint32_t i = 1; i <= count; ++i) point(plan + 2 + i, value);
  words[value] = 4 * value - 30;
  return words;
}

TEST(ProgramDamage, TablesThatAreSharedOverAndOverAreRefusedSoon) {
  const std::vector<std::uint32_t> few = shared_tables(2);
  const Result<Program> program = read_program(std::as_bytes(std::span(few)));
  ASSERT_TRUE(program.has_value()) << program.error().message;
  ASSERT_EQ(program->methods.size(), 2);
  EXPECT_EQ(program->methods[1].values.size(), 2);
  const std::vector<std::uint32_t> many = shared_tables(20000);  // 400 million values
  const Result<Program> refused = read_program(std::as_bytes(std::span(many)));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kArtifact);
}

}  // namespace
}  // namespace polystate::program
