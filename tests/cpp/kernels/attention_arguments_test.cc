#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/attention/attend_functions.h"
#include "kernels/attention_case.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

// The operators of attention refuse what does not fit, and have then written nothing.
namespace polystate {
namespace {

using Change = std::function<void(AttentionCase&)>;
using Operation = Result<Tensor> (*)(const AttentionCase&);

Result<Tensor> paged(const AttentionCase& c) { return c.paged(fastest_attend_functions()); }
Result<Tensor> cross(const AttentionCase& c) { return c.cross(fastest_attend_functions()); }
Result<Tensor> dense(const AttentionCase& c) { return c.dense(fastest_attend_functions()); }
Result<Tensor> write(const AttentionCase& c) { return c.write_pages(); }
Result<Tensor> copy(const AttentionCase& c) { return c.copy_pages(); }

// 3 rows of 3 pages of 16 positions, 2 tokens each, in 10 pages.
AttentionCase case_for(Operation run) {
  return run == dense || run == write ? AttentionCase::of_rows({}) : AttentionCase::of_tokens({});
}

Tensor zeros(DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::empty(dtype, shape).value();
  std::ranges::fill(tensor.mutable_bytes(), std::byte{0});
  return tensor;
}

void expect_refused(Operation run, const Change& change, const std::string& message) {
  SCOPED_TRACE(message);
  AttentionCase arguments = case_for(run);
  change(arguments);
  const std::vector<std::byte> keys(arguments.key_pool.bytes().begin(),
                                    arguments.key_pool.bytes().end());
  const std::vector<std::byte> values(arguments.value_pool.bytes().begin(),
                                      arguments.value_pool.bytes().end());
  const Result<Tensor> result = run(arguments);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kEngine);
  EXPECT_THAT(result.error().message, testing::HasSubstr(message));
  EXPECT_TRUE(std::ranges::equal(arguments.key_pool.bytes(), keys));
  EXPECT_TRUE(std::ranges::equal(arguments.value_pool.bytes(), values));
}

TEST(AttentionArguments, ThatFitAreAccepted) {
  for (const Operation run : {paged, cross, dense, write, copy}) {
    const Result<Tensor> result = run(case_for(run));
    EXPECT_TRUE(result) << result.error().message;
  }
}

TEST(AttentionArguments, PagesAreInThePool) {
  for (const std::int64_t page : {-1, 10}) {
    const std::string message =
        "_table has " + std::to_string(page) + ", which is not between 0 and 9";
    for (Operation run : {paged, cross, write}) {
      expect_refused(
          run,
          [page](AttentionCase& c) {
            c.page_table = Tensor::of<std::int64_t>({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, page}).value();
          },
          message);
    }
    expect_refused(
        copy, [page](AttentionCase& c) { c.source = integers({1, page}); }, "source has");
    expect_refused(
        copy, [page](AttentionCase& c) { c.target = integers({page, 2}); }, "target has");
  }
}

TEST(AttentionArguments, EveryTokenHasAPlaceOfItsOwn) {
  const auto tokens = [](const std::vector<std::int64_t>& positions,
                         const std::vector<std::int64_t>& rows) {
    return [positions, rows](AttentionCase& c) {
      // The third row has the first page of the second.
      c.page_table = Tensor::of<std::int64_t>({3, 3}, {9, 8, 7, 6, 5, 4, 6, 2, 1}).value();
      c.positions = integers(positions);
      c.rows = integers(rows);
    };
  };
  expect_refused(paged, tokens({0, 1, 2, -1, 48, 0}, {0, 0, 0, 0, 0, 0}),
                 "token 3 at position -1, which is not between 0 and 47");
  expect_refused(paged, tokens({0, 1, 2, 3, 48, 0}, {0, 0, 0, 0, 0, 0}),
                 "token 4 at position 48, which is not between 0 and 47");
  expect_refused(paged, tokens({0, 0, 16, 3, 4, 5}, {0, 1, 2, 3, 0, 0}),
                 "token 3 of row 3, which is not between 0 and 2");
  expect_refused(paged, tokens({0, 1, 2, 3, 4, 5}, {0, 0, 0, 0, -1, 7}),
                 "token 4 of row -1, which is not between 0 and 2");
  expect_refused(paged, tokens({0, 1, 2, 1, 0, 99}, {0, 0, 0, 0, 0, 0}),
                 "tokens 1 and 3 both at slot 1 of page 9");
  expect_refused(paged, tokens({5, 0, 17, 17, 5, 0}, {2, 0, 1, 2, 1, 0}),
                 "tokens 0 and 4 both at slot 5 of page 6");
  expect_refused(cross, tokens({0, 1, 2, 3, 4, 5}, {0, 0, 3, 0, 0, 0}),
                 "rows has 3, which is not between 0 and 2");
}

TEST(AttentionArguments, LengthsAreInTheirRange) {
  const auto last = [](std::int64_t length) {
    return [length](AttentionCase& c) { c.lengths = integers({1, 1, length}); };
  };
  expect_refused(cross, last(-1), "lengths has -1, which is not between 0 and 48");
  expect_refused(cross, last(49), "lengths has 49, which is not between 0 and 48");
  expect_refused(dense, last(-1), "lengths has -1, which is not between 0 and 2");
  expect_refused(dense, last(3), "lengths has 3, which is not between 0 and 2");
  expect_refused(write, last(-1), "lengths has -1, which is not between 0 and 2");
  expect_refused(write, last(3), "lengths has 3, which is not between 0 and 2");
}

TEST(AttentionArguments, APageIsNotBothSourceAndTarget) {
  expect_refused(
      copy, [](AttentionCase& c) { c.target = integers({2, 1}); },
      "page 1 is both a source and a target");
}

TEST(AttentionArguments, APageIsTheTargetOfOnePage) {
  expect_refused(
      copy,
      [](AttentionCase& c) {
        c.source = integers({0, 1});
        c.target = integers({2, 2});
      },
      "page 2 is the target of pages 0 and 1");
}

TEST(AttentionArguments, HeadsAreAMultipleOfTheKeysHeads) {
  for (Operation run : {paged, cross, dense}) {
    Shape shape = case_for(run).query.shape();
    shape[shape.size() - 2] = 3;
    expect_refused(
        run, [&](AttentionCase& c) { c.query = random_floats(shape, 0); },
        "query has 3 heads, which is not a multiple of the 2 of the keys");
  }
}

TEST(AttentionArguments, NoWindowIsNegative) {
  const auto negative = [](AttentionCase& c) { c.window = -1; };
  expect_refused(paged, negative, "a window of -1");
  expect_refused(dense, negative, "a window of -1");
}

// Every tensor with another type, another rank, and another size of each dimension that is not
// free.
TEST(AttentionArguments, HaveTheirTypesAndShapes) {
  struct Argument {
    Tensor AttentionCase::* member;
    std::string name;
    std::vector<Operation> users;
  };
  const std::vector<Argument> arguments = {
      {&AttentionCase::query, "query is", {paged, cross, dense}},
      {&AttentionCase::key, "key is", {paged, dense, write}},
      {&AttentionCase::value, "value is", {paged, dense, write}},
      {&AttentionCase::key_pool, "key_pool is", {paged, cross, write, copy}},
      {&AttentionCase::value_pool, "value_pool is", {paged, cross, write, copy}},
      {&AttentionCase::page_table, "_table is", {paged, cross, write}},
      {&AttentionCase::positions, "positions is", {paged}},
      {&AttentionCase::rows, "rows is", {paged, cross}},
      {&AttentionCase::lengths, "lengths is", {cross, dense, write}},
      {&AttentionCase::source, "source is", {copy}},
      {&AttentionCase::target, "target is", {copy}},
      {&AttentionCase::out, "out is", {paged, cross, dense}},
  };
  for (const Argument& argument : arguments) {
    for (Operation run : argument.users) {
      const auto with = [&](DType dtype, const Shape& shape) {
        return [&argument, dtype, shape](AttentionCase& c) {
          c.*argument.member = zeros(dtype, shape);
        };
      };
      const Tensor right = case_for(run).*argument.member;
      expect_refused(run, with(DType::kInt32, right.shape()), argument.name);
      Shape shape = right.shape();
      shape.insert(shape.begin(), 1);
      expect_refused(run, with(right.dtype(), shape), argument.name);
    }
  }
}

TEST(AttentionArguments, SizesAreEqualWhereTheyMustBe) {
  const auto with = [](Tensor AttentionCase::* member, const Shape& shape) {
    return [member, shape](AttentionCase& c) { c.*member = random_floats(shape, 0); };
  };
  const auto rows = [](Tensor AttentionCase::* member) {
    return [member](AttentionCase& c) { c.*member = integers({1, 1}); };
  };
  using C = AttentionCase;
  for (Operation run : {paged, cross}) {
    expect_refused(run, with(&C::query, {6, 4, 8}), "query has shape [6, 4, 8]");
    expect_refused(run, [](C& c) { c.bias = random_floats({2, 4, 6, 48}, 0); }, "bias has shape");
    expect_refused(run, [](C& c) { c.bias = random_floats({1, 4, 6, 47}, 0); }, "bias has shape");
    expect_refused(run, [](C& c) { c.bias = random_floats({1, 2, 6, 48}, 0); }, "bias has shape");
    expect_refused(run, [](C& c) { c.bias = random_floats({1, 4, 5, 48}, 0); }, "bias has shape");
    expect_refused(run, rows(&C::rows), "rows has shape [2]");
  }
  expect_refused(dense, with(&C::query, {3, 2, 4, 8}), "query has shape [3, 2, 4, 8]");
  expect_refused(dense, [](C& c) { c.bias = random_floats({2, 4, 2, 2}, 0); }, "bias has shape");
  expect_refused(dense, [](C& c) { c.bias = random_floats({1, 4, 2, 3}, 0); }, "bias has shape");
  for (Operation run : {paged, dense}) {
    expect_refused(run, [](C& c) { c.sinks = random_floats({2}, 0); }, "sinks has shape [2]");
  }
  expect_refused(paged, with(&C::value, {5, 2, 16}), "value has shape [5, 2, 16]");
  expect_refused(paged, with(&C::key, {6, 1, 16}), "key has shape [6, 1, 16]");
  for (Operation run : {dense, write}) {
    expect_refused(run, with(&C::value, {3, 1, 2, 16}), "value has shape [3, 1, 2, 16]");
  }
  expect_refused(write, with(&C::key, {3, 2, 1, 16}), "key has shape [3, 2, 1, 16]");
  for (Operation run : {paged, cross, write, copy}) {
    expect_refused(run, with(&C::value_pool, {10, 2, 15, 16}), "value_pool has shape");
    expect_refused(run, with(&C::key_pool, {10, 2, 16, 0}), "");
  }
  expect_refused(paged, rows(&C::positions), "positions has shape [2]");
  for (Operation run : {cross, dense, write}) {
    expect_refused(run, rows(&C::lengths), "lengths has shape [2]");
  }
  expect_refused(copy, [](C& c) { c.target = integers({5}); }, "target has shape [1]");
}

TEST(AttentionArguments, BothPoolsAreOfOneType) {
  for (Operation run : {paged, cross, write, copy}) {
    expect_refused(
        run, [](AttentionCase& c) { c.value_pool = halves(c.value_pool); },
        "value_pool is float16 of shape [10, 2, 16, 16]; it must be float32");
    expect_refused(
        run, [](AttentionCase& c) { c.key_pool = halves(c.key_pool); },
        "value_pool is float32 of shape [10, 2, 16, 16]; it must be float16");
  }
}

}  // namespace
}  // namespace polystate
