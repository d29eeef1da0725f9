#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention_case.h"
#include "kernels/instruction_set.h"
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
    AttentionCase arguments = AttentionCase::random(sizes);
    compare_instruction_sets(arguments, operation);
    const std::int64_t columns =
        operation == &AttentionCase::dense ? sizes.tokens : sizes.page * sizes.row_pages;
    for (const std::int64_t window : {1, 3, 20}) {
      arguments.window = window;
      compare_instruction_sets(arguments, operation);
    }
    arguments.softcap = 1.5;
    arguments.causal = true;
    arguments.sinks = random_floats({sizes.heads}, 8);
    arguments.bias = random_floats({1, sizes.heads, sizes.tokens, columns}, 9);
    compare_instruction_sets(arguments, operation);
    arguments.window = 0;
    arguments.bias = random_floats({sizes.rows, 1, sizes.tokens, columns}, 9);
    compare_instruction_sets(arguments, operation);
  }
}

// Pools of float16 against pools of the same numbers in float32; new positions are rounded first.
void compare_half_pools(Operation operation) {
  for (const AttentionSizes& sizes : many_sizes()) {
    SCOPED_TRACE(testing::Message() << "page " << sizes.page << ", head_dim " << sizes.head_dim);
    AttentionCase exact = AttentionCase::random(sizes);
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
  const AttentionCase arguments = AttentionCase::random({.rows = 1, .tokens = 1, .row_pages = 1});
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
  const AttentionCase half = AttentionCase::random({}).with_half_pools();
  ASSERT_TRUE(half.copy_pages());
  const AttentionCase exact = AttentionCase::random({});
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

AttentionCase row_of(const AttentionCase& arguments, std::int64_t row, std::int64_t rows) {
  AttentionCase result = arguments;
  for (Tensor AttentionCase::* const member :
       {&AttentionCase::query, &AttentionCase::key, &AttentionCase::value,
        &AttentionCase::page_table, &AttentionCase::positions, &AttentionCase::lengths,
        &AttentionCase::out}) {
    result.*member = part(arguments.*member, row, rows);
  }
  return result;
}

// Large enough for several threads, of which a single row takes fewer.
TEST(Attention, OfARowIsBitForBitWhatItIsAlone) {
  constexpr std::int64_t kRows = 4;
  const AttentionCase arguments = AttentionCase::random(
      {.rows = kRows, .tokens = 50, .heads = 8, .kv_heads = 4, .head_dim = 64, .row_pages = 9});
  for (const Operation operation :
       {&AttentionCase::paged, &AttentionCase::cross, &AttentionCase::dense}) {
    const std::vector<float> together = run(arguments, operation, fastest_attend_functions());
    std::vector<float> apart;
    for (std::int64_t row = 0; row < kRows; ++row) {
      const auto one = run(row_of(arguments, row, kRows), operation, fastest_attend_functions());
      apart.insert(apart.end(), one.begin(), one.end());
    }
    EXPECT_EQ(together, apart);
  }
}

// Rows 0 to 2 read one text; 3 reads less of it; 4 and 5 one that lies in the same first page, and
// whose table has another last page, which they do not read; 6 one of its own.
TEST(CrossAttention, OfRowsThatReadOneTextIsBitForBitWhatItIsAlone) {
  constexpr std::int64_t kRows = 7;
  AttentionCase arguments =
      AttentionCase::random({.rows = kRows, .tokens = 3, .head_dim = 20, .value_dim = 36});
  arguments.page_table =
      Tensor::of({kRows, 3}, std::vector<std::int64_t>{5, 9, 2, 5, 9, 2, 5, 9, 2,  // 0 to 2
                                                       5, 9, 2,                    // 3
                                                       5, 7, 1, 5, 7, 3,           // 4 and 5
                                                       8, 7, 1})
          .value();
  arguments.lengths = integers({40, 40, 40, 33, 32, 32, 32});
  arguments.bias = random_floats({kRows, 1, 3, 48}, 6);
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) {
      continue;
    }
    const auto together = run(arguments, &AttentionCase::cross, attend_functions(set));
    std::vector<float> apart;
    for (std::int64_t row = 0; row < kRows; ++row) {
      AttentionCase alone = row_of(arguments, row, kRows);
      alone.bias = part(*arguments.bias, row, kRows);
      const auto one = run(alone, &AttentionCase::cross, attend_functions(set));
      apart.insert(apart.end(), one.begin(), one.end());
    }
    EXPECT_EQ(together, apart);
  }
}

TEST(Attention, OfSeveralTokensIsBitForBitWhatItIsOneByOne) {
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) {
      continue;
    }
    AttentionCase arguments = AttentionCase::random({.rows = 1, .tokens = 7, .heads = 2});
    arguments.positions = integers({13});
    arguments.window = 9;
    const std::vector<float> together =
        run(arguments, &AttentionCase::paged, attend_functions(set));
    std::vector<float> apart;
    for (std::int64_t token = 0; token < 7; ++token) {
      AttentionCase one = AttentionCase::random({.rows = 1, .tokens = 1, .heads = 2});
      const auto take = [token](const Tensor& tensor) {
        Shape shape = tensor.shape();
        std::swap(shape[0], shape[1]);
        const Tensor by_token = Tensor::copy_of(tensor.dtype(), shape, tensor.bytes()).value();
        return part(by_token, token, 7);
      };
      one.query = take(arguments.query);
      one.key = take(arguments.key);
      one.value = take(arguments.value);
      one.key_pool = arguments.key_pool;
      one.value_pool = arguments.value_pool;
      one.positions = integers({13 + token});
      one.window = 9;
      const auto values = run(one, &AttentionCase::paged, attend_functions(set));
      apart.insert(apart.end(), values.begin(), values.end());
    }
    EXPECT_EQ(together, apart);
  }
}

TEST(Attention, ReadsNothingThatIsNotSeen) {
  AttentionCase arguments = AttentionCase::random({.rows = 1, .tokens = 1, .page = 5});
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
