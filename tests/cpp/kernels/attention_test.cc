#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/instruction_set.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention_case.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

// The operators of attention: every instruction set against the scalar one, which the tests in
// Python compare with PyTorch.
namespace polystate {
namespace {

using Operation = Result<Tensor> (AttentionCase::*)(const AttendFunctions&) const;

constexpr std::array kSets = {InstructionSet::kScalar, InstructionSet::kNeon, InstructionSet::kAvx2,
                              InstructionSet::kAvx512};

std::vector<float> floats(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

std::vector<float> run(const AttentionCase& arguments, Operation operation,
                       const AttendFunctions& functions) {
  const Result<Tensor> result = (arguments.*operation)(functions);
  EXPECT_TRUE(result) << result.error().message;
  return result ? floats(*result) : std::vector<float>{};
}

void expect_close(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 2e-6 + 2e-6 * std::abs(expected[i])) << "element " << i;
  }
}

void compare_instruction_sets(const AttentionCase& arguments, Operation operation) {
  const std::vector<float> expected = run(arguments, operation, attend_scalar());
  for (const InstructionSet set : kSets) {
    if (is_available(set)) {
      SCOPED_TRACE(testing::Message() << "instruction set " << static_cast<int>(set));
      expect_close(run(arguments, operation, attend_functions(set)), expected);
    }
  }
}

AttentionCase case_of(Operation operation, const AttentionSizes& sizes) {
  return operation == &AttentionCase::dense ? AttentionCase::of_rows(sizes)
                                            : AttentionCase::of_tokens(sizes);
}

// As a softmax: what is not a number is not left out, nor taken for a small one.
TEST(Attention, OfAQueryThatIsNoNumberIsNone) {
  for (const Operation operation :
       {&AttentionCase::paged, &AttentionCase::cross, &AttentionCase::dense}) {
    const AttentionCase arguments = case_of(operation, {});
    const Tensor query = arguments.query;
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(query.mutable_bytes().data(), &kNan, sizeof(kNan));
    for (const InstructionSet set : kSets) {
      if (!is_available(set)) continue;
      const std::vector<float> result = run(arguments, operation, attend_functions(set));
      const auto is_nan = [](float each) { return std::isnan(each); };
      EXPECT_EQ(std::ranges::count_if(result, is_nan), 16) << static_cast<int>(set);
      EXPECT_TRUE(std::ranges::all_of(std::span(result).first(16), is_nan));
    }
  }
}

std::vector<AttentionSizes> many_sizes() {
  std::vector<AttentionSizes> sizes;
  for (const std::int64_t page : {1, 5, 16, 32}) {
    for (const std::int64_t dim : {1, 3, 16, 64, 80}) {
      sizes.push_back({.head_dim = dim, .value_dim = dim, .page = page, .row_pages = 5});
    }
  }
  sizes.push_back({.rows = 1, .tokens = 1, .heads = 1, .kv_heads = 1});
  sizes.push_back({.tokens = 7, .heads = 6, .kv_heads = 2, .head_dim = 5, .value_dim = 130});
  sizes.push_back({.rows = 2, .tokens = 40, .heads = 8, .kv_heads = 8, .row_pages = 9});
  return sizes;
}

void compare_sizes_and_options(Operation operation) {
  for (const AttentionSizes& sizes : many_sizes()) {
    SCOPED_TRACE(testing::Message() << "page " << sizes.page << ", head_dim " << sizes.head_dim);
    AttentionCase arguments = case_of(operation, sizes);
    compare_instruction_sets(arguments, operation);
    const bool is_dense = operation == &AttentionCase::dense;
    const std::int64_t columns = is_dense ? sizes.tokens : sizes.page * sizes.row_pages;
    const std::int64_t tokens = is_dense ? sizes.tokens : sizes.tokens * sizes.rows;
    for (const std::int64_t window : {1, 3, 20}) {
      arguments.window = window;
      compare_instruction_sets(arguments, operation);
    }
    arguments.softcap = 1.5;
    arguments.causal = true;
    arguments.sinks = random_floats({sizes.heads}, 8);
    arguments.bias = random_floats({1, sizes.heads, tokens, columns}, 9);
    compare_instruction_sets(arguments, operation);
    arguments.window = 0;
    arguments.bias = random_floats({is_dense ? sizes.rows : 1, 1, tokens, columns}, 9);
    compare_instruction_sets(arguments, operation);
  }
}

// Pools of float16 against pools of the same numbers in float32; new positions are rounded first.
void compare_half_pools(Operation operation) {
  for (const AttentionSizes& sizes : many_sizes()) {
    SCOPED_TRACE(testing::Message() << "page " << sizes.page << ", head_dim " << sizes.head_dim);
    AttentionCase exact = AttentionCase::of_tokens(sizes);
    for (Tensor* const rounded : {&exact.key, &exact.value, &exact.key_pool, &exact.value_pool}) {
      *rounded = widened(halves(*rounded));
    }
    for (const InstructionSet set : kSets) {
      if (!is_available(set)) continue;
      SCOPED_TRACE(testing::Message() << "instruction set " << static_cast<int>(set));
      const AttentionCase half = exact.with_half_pools();
      expect_close(run(half, operation, attend_functions(set)),
                   run(exact, operation, attend_functions(set)));
      EXPECT_EQ(floats(widened(half.key_pool)), floats(exact.key_pool));
      EXPECT_EQ(floats(widened(half.value_pool)), floats(exact.value_pool));
    }
  }
}

TEST(PagedAttention, OverPoolsOfFloat16IsThatOfTheirNumbers) {
  compare_half_pools(&AttentionCase::paged);
}

TEST(CrossAttention, OverPoolsOfFloat16IsThatOfTheirNumbers) {
  compare_half_pools(&AttentionCase::cross);
}

TEST(WritePages, RoundsToFloat16AndKeepsWhatIsFinite) {
  const AttentionCase arguments = AttentionCase::of_rows({.rows = 1, .tokens = 1, .row_pages = 1});
  auto* const key = reinterpret_cast<float*>(arguments.key.mutable_bytes().data());
  key[0] = 1e9F;
  key[1] = -HUGE_VALF;
  key[2] = NAN;
  key[3] = 1 + 0x1p-11F;  // between two of them, of which the even one is 1
  const AttentionCase half = arguments.with_half_pools();
  ASSERT_TRUE(half.write_pages());
  const std::size_t page = half.page_table.values<std::int64_t>()[0];
  const std::vector<float> keys = floats(widened(half.key_pool));
  const auto written = [&](std::size_t dim) { return keys[(page * 2 * 16 + dim) * 16]; };
  EXPECT_EQ(written(0), 65504);
  EXPECT_EQ(written(1), -65504);
  EXPECT_TRUE(std::isnan(written(2)));
  EXPECT_EQ(written(3), 1);
}

TEST(CopyPages, CopiesPagesOfFloat16) {
  const AttentionCase half = AttentionCase::of_rows({}).with_half_pools();
  ASSERT_TRUE(half.copy_pages());
  const AttentionCase exact = AttentionCase::of_rows({});
  ASSERT_TRUE(exact.copy_pages());
  EXPECT_EQ(floats(widened(half.key_pool)), floats(widened(halves(exact.key_pool))));
  EXPECT_EQ(floats(widened(half.value_pool)), floats(widened(halves(exact.value_pool))));
}

TEST(PagedAttention, IsTheSameOnEveryInstructionSet) {
  compare_sizes_and_options(&AttentionCase::paged);
}

TEST(CrossAttention, IsTheSameOnEveryInstructionSet) {
  compare_sizes_and_options(&AttentionCase::cross);
}

TEST(DenseAttention, IsTheSameOnEveryInstructionSet) {
  compare_sizes_and_options(&AttentionCase::dense);
}

// Part `index` of `count` equal parts along the first dimension.
Tensor part(const Tensor& tensor, std::int64_t index, std::int64_t count) {
  Shape shape = tensor.shape();
  shape[0] /= count;
  const std::size_t size = tensor.byte_count() / static_cast<std::size_t>(count);
  return Tensor::copy_of(tensor.dtype(), shape,
                         tensor.bytes().subspan(static_cast<std::size_t>(index) * size, size))
      .value();
}

// Large enough for several threads, of which a single row takes fewer.
TEST(DenseAttention, OfARowIsBitForBitWhatItIsAlone) {
  constexpr std::int64_t kRows = 4;
  const AttentionCase arguments = AttentionCase::of_rows(
      {.rows = kRows, .tokens = 50, .heads = 8, .kv_heads = 4, .head_dim = 64});
  const auto functions = fastest_attend_functions();
  const std::vector<float> together = run(arguments, &AttentionCase::dense, functions);
  std::vector<float> apart;
  for (std::int64_t row = 0; row < kRows; ++row) {
    AttentionCase alone = arguments;
    for (Tensor AttentionCase::* const member :
         {&AttentionCase::query, &AttentionCase::key, &AttentionCase::value,
          &AttentionCase::lengths, &AttentionCase::out}) {
      alone.*member = part(arguments.*member, row, kRows);
    }
    const auto one = run(alone, &AttentionCase::dense, functions);
    apart.insert(apart.end(), one.begin(), one.end());
  }
  EXPECT_EQ(together, apart);
}

TEST(Attention, ReadsNothingThatIsNotSeen) {
  AttentionCase arguments = AttentionCase::of_tokens({.rows = 1, .tokens = 1, .page = 5});
  arguments.positions = integers({6});
  const std::vector<float> expected =
      run(arguments, &AttentionCase::paged, fastest_attend_functions());
  const auto table = arguments.page_table.values<std::int64_t>();
  const std::size_t page_floats = arguments.value_pool.element_count() / 4;
  auto* const values = reinterpret_cast<float*>(arguments.value_pool.mutable_bytes().data());
  auto* const keys = reinterpret_cast<float*>(arguments.key_pool.mutable_bytes().data());
  for (std::size_t i = 0; i < page_floats; ++i) {
    values[static_cast<std::size_t>(table[2]) * page_floats + i] = NAN;
    keys[static_cast<std::size_t>(table[2]) * page_floats + i] = NAN;
    const bool unwritten = i % 80 >= 32;  // of the value page: [kv_heads, page, dim]
    if (unwritten) {
      values[static_cast<std::size_t>(table[1]) * page_floats + i] = NAN;
    }
  }
  EXPECT_EQ(run(arguments, &AttentionCase::paged, fastest_attend_functions()), expected);
}

// Pages that were given back may belong to another sequence, or hold anything.
TEST(Attention, ReadsNoPageBeforeAWindow) {
  constexpr std::int64_t kPages = 10;  // nine of the row, and another one
  for (const bool is_half : {false, true}) {
    AttentionCase arguments =
        AttentionCase::of_tokens({.rows = 1, .tokens = 4, .page = 5, .row_pages = kPages - 1});
    arguments.positions = integers({43, 41, 44, 42});
    arguments.window = 8;  // the token at position 41 sees those from 34 on, of the page from 30 on
    if (is_half) arguments = arguments.with_half_pools();
    auto* const table =
        reinterpret_cast<std::int64_t*>(arguments.page_table.mutable_bytes().data());
    const std::int64_t other =
        (kPages - 1) * kPages / 2 - std::accumulate(table, table + kPages - 1, std::int64_t{0});
    for (Tensor AttentionCase::* const pool :
         {&AttentionCase::key_pool, &AttentionCase::value_pool}) {
      const auto bytes = (arguments.*pool).mutable_bytes();
      const std::size_t size = bytes.size() / kPages;
      std::ranges::fill(bytes.subspan(static_cast<std::size_t>(other) * size, size),
                        std::byte{0xff});  // NaN
    }
    for (const InstructionSet set : kSets) {
      if (!is_available(set)) continue;
      const std::vector<std::int64_t> own(table, table + kPages - 1);
      const auto expected = run(arguments, &AttentionCase::paged, attend_functions(set));
      std::fill_n(table, 6, other);
      EXPECT_EQ(run(arguments, &AttentionCase::paged, attend_functions(set)), expected);
      std::fill_n(table, 6, 0);
      EXPECT_EQ(run(arguments, &AttentionCase::paged, attend_functions(set)), expected);
      std::ranges::copy(own, table);
      EXPECT_FALSE(std::isnan(expected.front()));
    }
  }
}

TEST(Attention, ExponentialsAreRightToTwoUnitsInTheLastPlace) {
  // With one value of 1 and a sink, the result is the weight e^s / (e^s + 1) of a score s.
  for (const InstructionSet set : kSets) {
    for (int step = 0; is_available(set) && step < 270; ++step) {
      const float score = -80 + 0.37F * static_cast<float>(step);
      const float one = 1;
      const float zero = 0;
      float out = 0;
      std::vector<float> scratch(static_cast<std::size_t>(kMaxQueries * attend_stride(1)));
      const HeadPages head{&one, &one, nullptr, 1, 1, 1, 1, 1, 1};
      const HeadQuery query{&score, nullptr, &zero, &out, {0, 1}};
      attend_functions(set).over_floats(head, {}, &query, 1, {scratch.data(), attend_stride(1)});
      const double expected = 1 / (1 + std::exp(-static_cast<double>(score)));
      EXPECT_NEAR(out / expected, 1, 3e-7) << score;
    }
  }
}

}  // namespace
}  // namespace polystate
