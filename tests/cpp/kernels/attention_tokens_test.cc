#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention_case.h"
#include "kernels/parallel.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

// A token's attention is, bit for bit, what it is in a step of its own: whatever else is in the
// step, in whatever order, however prompts are cut into steps, on any number of threads.
namespace polystate {
namespace {

using Tokens = std::vector<std::int64_t>;  // by number

constexpr std::array kSets = {InstructionSet::kScalar, InstructionSet::kNeon, InstructionSet::kAvx2,
                              InstructionSet::kAvx512};
constexpr std::int64_t kRows = 5;

struct Options {
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t dims;
  std::int64_t page;
  std::int64_t window;
  bool is_scored_otherwise;  // with a soft cap, sinks and a bias
  bool is_half;
};

void fill(const Tensor& floats, float value) {
  auto* const data = reinterpret_cast<float*>(floats.mutable_bytes().data());
  std::fill_n(data, floats.element_count(), value);
}

// The elements [.., numbers.., ..] of a tensor, along a dimension.
Tensor taken(const Tensor& tensor, std::size_t dimension, const Tokens& numbers) {
  Shape shape = tensor.shape();
  std::size_t inner = tensor.byte_count() / std::max<std::size_t>(tensor.element_count(), 1);
  std::size_t outer = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d < dimension) outer *= static_cast<std::size_t>(shape[d]);
    if (d > dimension) inner *= static_cast<std::size_t>(shape[d]);
  }
  const auto size = static_cast<std::size_t>(shape[dimension]);
  shape[dimension] = static_cast<std::int64_t>(numbers.size());
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < outer; ++i) {
    for (const std::int64_t number : numbers) {
      const auto part =
          tensor.bytes().subspan((i * size + static_cast<std::size_t>(number)) * inner, inner);
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
  }
  return Tensor::copy_of(tensor.dtype(), shape, bytes).value();
}

// Sequences, and the tokens that are added to them, by position: a prompt of 45 tokens; single
// tokens; a prompt whose row begins with full pages of the first prompt; a few tokens whose row
// begins with full pages of another. Where nothing was written the cache holds NaN.
class Sequences {
 public:
  explicit Sequences(const Options& options) : options_(options) {
    const std::int64_t page = options.page;
    const std::int64_t shared = std::max<std::int64_t>(32 / page, 1) * page;
    const std::array<std::pair<std::int64_t, std::int64_t>, kRows> added = {
        {{0, 45}, {70, 1}, {shared, 20}, {3, 1}, {shared, 6}}};
    std::vector<std::array<std::int64_t, 2>> tokens;  // position, row
    for (std::int64_t row = 0; row < kRows; ++row) {
      const auto [first, count] = added[static_cast<std::size_t>(row)];
      for (std::int64_t i = 0; i < count; ++i) tokens.push_back({first + i, row});
    }
    std::ranges::sort(tokens);
    for (const auto& [position, row] : tokens) {
      positions_.push_back(position);
      rows_.push_back(row);
    }
    all_ = AttentionCase::of_tokens({.rows = kRows,
                                     .tokens = 1,
                                     .heads = options.heads,
                                     .kv_heads = options.kv_heads,
                                     .head_dim = options.dims,
                                     .value_dim = options.dims,
                                     .page = page,
                                     .row_pages = (80 + page - 1) / page});
    draw(shared / page);
  }

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(positions_.size()); }

  // A step of some of the tokens, over the pools of `cache`.
  [[nodiscard]] AttentionCase step(const AttentionCase& cache, const Tokens& tokens) const {
    AttentionCase step = cache;
    for (Tensor AttentionCase::* const member :
         {&AttentionCase::query, &AttentionCase::key, &AttentionCase::value,
          &AttentionCase::positions, &AttentionCase::rows, &AttentionCase::out}) {
      step.*member = taken(all_.*member, 0, tokens);
    }
    if (all_.bias) step.bias = taken(*all_.bias, 2, tokens);
    return step;
  }

  // A cache that holds what was there before the tokens, and one that holds the texts of the rows.
  [[nodiscard]] AttentionCase cache() const { return over_copied_pools(all_); }
  [[nodiscard]] AttentionCase texts() const { return over_copied_pools(texts_); }

 private:
  void draw(std::int64_t shared_pages) {
    const Options& o = options_;
    all_.query = random_floats({count(), o.heads, o.dims}, 1);
    all_.key = random_floats({count(), o.kv_heads, o.dims}, 2);
    all_.value = random_floats({count(), o.kv_heads, o.dims}, 3);
    all_.out = random_floats({count(), o.heads, o.dims}, 4);
    all_.positions = integers(positions_);
    all_.rows = integers(rows_);
    all_.window = o.window;
    share(2, 0, shared_pages);
    share(4, 1, shared_pages);
    if (o.is_scored_otherwise) {
      all_.softcap = 1.5;
      all_.sinks = random_floats({o.heads}, 5);
      all_.bias = random_floats({1, o.heads, count(), all_.page_table.shape()[1] * o.page}, 6);
    }
    spoil();
  }

  // Has a row begin with pages of another.
  void share(std::int64_t row, std::int64_t other, std::int64_t pages) {
    auto* const table = reinterpret_cast<std::int64_t*>(all_.page_table.mutable_bytes().data());
    const std::int64_t row_pages = all_.page_table.shape()[1];
    std::copy_n(table + other * row_pages, pages, table + row * row_pages);
  }

  // Leaves only what rows 1 and 3 have before their tokens; the last token of the first prompt has
  // an infinite value, which those before it do not see.
  void spoil() {
    fill(all_.key_pool, std::nanf(""));
    fill(all_.value_pool, std::nanf(""));
    all_ = over_copied_pools(all_);
    texts_ = written({7, 33, 50, 50, 1});
    all_ = written({0, 70, 0, 3, 0});
    const auto last = std::ranges::find(positions_, 44) - positions_.begin();
    auto* const values = reinterpret_cast<float*>(all_.value.mutable_bytes().data());
    std::fill_n(values + last * options_.kv_heads * options_.dims, options_.dims,
                std::numeric_limits<float>::infinity());
  }

  // The same over pools in which the first positions of each row are written.
  [[nodiscard]] AttentionCase written(const std::vector<std::int64_t>& lengths) const {
    AttentionCase past = over_copied_pools(all_);
    past.lengths = integers(lengths);
    past.key = random_floats({kRows, 70, options_.kv_heads, options_.dims}, 8);
    past.value = random_floats({kRows, 70, options_.kv_heads, options_.dims}, 9);
    EXPECT_TRUE(past.write_pages());
    past.key = all_.key;
    past.value = all_.value;
    return past;
  }

  [[nodiscard]] AttentionCase over_copied_pools(const AttentionCase& given) const {
    const bool is_rounded = given.key_pool.dtype() == DType::kFloat16;
    AttentionCase copy = options_.is_half && !is_rounded ? given.with_half_pools() : given;
    for (Tensor AttentionCase::* const pool :
         {&AttentionCase::key_pool, &AttentionCase::value_pool}) {
      const Tensor& from = copy.*pool;
      copy.*pool = Tensor::copy_of(from.dtype(), from.shape(), from.bytes()).value();
    }
    return copy;
  }

  Options options_;
  std::vector<std::int64_t> positions_;
  std::vector<std::int64_t> rows_;
  AttentionCase all_ = AttentionCase::of_tokens({});
  AttentionCase texts_ = all_;
};

using Operation = Result<Tensor> (AttentionCase::*)(const AttendFunctions&) const;

// The results of all tokens, by number, of steps with these tokens, one after another.
std::vector<std::vector<float>> run(const Sequences& sequences, const std::vector<Tokens>& steps,
                                    Operation operation, const AttendFunctions& functions) {
  std::vector<std::vector<float>> results(static_cast<std::size_t>(sequences.count()));
  const bool is_cross = operation == &AttentionCase::cross;
  const AttentionCase cache = is_cross ? sequences.texts() : sequences.cache();
  for (const Tokens& tokens : steps) {
    const Result<Tensor> out = (sequences.step(cache, tokens).*operation)(functions);
    if (!out) {
      ADD_FAILURE() << out.error().message;
      return results;
    }
    const std::span<const float> values = out->values<float>();
    const std::size_t size = values.size() / tokens.size();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto of_token = values.subspan(i * size, size);
      results[static_cast<std::size_t>(tokens[i])].assign(of_token.begin(), of_token.end());
    }
  }
  return results;
}

// Tokens one by one.
std::vector<Tokens> single_steps(std::int64_t count) {
  std::vector<Tokens> steps(static_cast<std::size_t>(count), Tokens(1));
  for (std::int64_t token = 0; token < count; ++token) {
    steps[static_cast<std::size_t>(token)] = {token};
  }
  return steps;
}

// Steps of several tokens, as many as can be, in any order.
std::vector<Tokens> drawn_steps(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<Tokens> steps;
  std::uniform_int_distribution<std::int64_t> size(1, count);
  for (std::int64_t first = 0; first < count;) {
    Tokens& step = steps.emplace_back(std::min(size(generator), count - first));
    std::iota(step.begin(), step.end(), first);
    first += static_cast<std::int64_t>(step.size());
    if (generator() % 4 != 0) std::ranges::shuffle(step, generator);
  }
  return steps;
}

void expect_same(const std::vector<std::vector<float>>& found,
                 const std::vector<std::vector<float>>& expected) {
  for (std::size_t token = 0; token < expected.size(); ++token) {
    ASSERT_EQ(found[token].size(), expected[token].size()) << "token " << token;
    for (std::size_t i = 0; i < expected[token].size(); ++i) {
      const float x = found[token][i];
      const float y = expected[token][i];
      ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y)))
          << "token " << token << ", element " << i << ": " << x << ", not " << y;
    }
  }
}

class AnyThreads : public testing::Test {
 protected:
  void TearDown() override { use_threads(before_); }

 private:
  std::int64_t before_ = thread_count();
};

using TokensOfAStep = AnyThreads;

TEST_F(TokensOfAStep, AreBitForBitWhatTheyAreAlone) {
  constexpr std::array kOptions = {
      Options{4, 4, 32, 16, 0, false, false}, Options{8, 2, 20, 16, 0, true, true},
      Options{4, 1, 64, 5, 7, true, false}, Options{2, 2, 16, 32, 33, false, true}};
  unsigned seed = 0;
  for (const Options& options : kOptions) {
    const Sequences sequences(options);
    for (const InstructionSet set : kSets) {
      if (!is_available(set)) continue;
      for (const Operation operation : {&AttentionCase::paged, &AttentionCase::cross}) {
        use_threads(1);
        const auto functions = attend_functions(set);
        const auto alone = run(sequences, single_steps(sequences.count()), operation, functions);
        EXPECT_FALSE(std::isnan(alone[0][0]));
        for (const std::int64_t threads : {1, 2, 3, 4, 5, 6, 7, 8}) {
          SCOPED_TRACE(testing::Message() << "page " << options.page << ", instruction set "
                                          << static_cast<int>(set) << ", threads " << threads);
          use_threads(threads);
          const auto steps = drawn_steps(sequences.count(), seed++);
          expect_same(run(sequences, steps, operation, functions), alone);
        }
      }
    }
  }
}

// The case after it has written rows of which many share each page.
AttentionCase with_shared_pages_written() {
  constexpr std::int64_t kWriters = 32;
  AttentionCase arguments = AttentionCase::of_rows({.rows = kWriters, .tokens = 40});
  std::vector<std::int64_t> table;
  for (std::int64_t row = 0; row < kWriters; ++row) {
    for (const std::int64_t page : {std::int64_t{1}, 5 + row % 2, 9 + row}) table.push_back(page);
  }
  arguments.page_table = Tensor::of({kWriters, 3}, table).value();
  arguments.lengths = integers(std::vector<std::int64_t>(kWriters, 40));
  EXPECT_TRUE(arguments.write_pages());
  return arguments;
}

using RowsThatShareAPage = AnyThreads;

TEST_F(RowsThatShareAPage, AreWrittenInTheirOrderOnAnyThreads) {
  use_threads(1);
  const AttentionCase expected = with_shared_pages_written();
  // [pages, kv_heads, page, dims] and [rows, tokens, kv_heads, dims], of two heads of 16.
  constexpr std::size_t kLastRow = 39'680;  // 31 * 40 * 2 * 16
  constexpr std::size_t kSecondPage = 512;  // 1 * 2 * 16 * 16
  const std::span<const float> last = expected.value.values<float>().subspan(kLastRow, 16);
  EXPECT_TRUE(
      std::ranges::equal(expected.value_pool.values<float>().subspan(kSecondPage, 16), last));
  for (const std::int64_t threads : {2, 4, 8}) {
    use_threads(threads);
    for (int i = 0; i < 20; ++i) {
      const AttentionCase found = with_shared_pages_written();
      EXPECT_TRUE(std::ranges::equal(found.key_pool.bytes(), expected.key_pool.bytes()));
      EXPECT_TRUE(std::ranges::equal(found.value_pool.bytes(), expected.value_pool.bytes()));
    }
  }
}

// Rows 0 to 2 read one text; 3 reads less of it; 4 and 5 one that lies in the same first page, and
// whose table has another last page, which they do not read; 6 one of its own.
TEST(CrossAttention, OfRowsThatReadOneTextIsBitForBitWhatItIsAlone) {
  constexpr std::int64_t kTexts = 7;
  AttentionCase arguments =
      AttentionCase::of_tokens({.rows = kTexts, .tokens = 3, .head_dim = 20, .value_dim = 36});
  arguments.page_table =
      Tensor::of({kTexts, 3}, std::vector<std::int64_t>{5, 9, 2, 5, 9, 2, 5, 9, 2,  // 0 to 2
                                                        5, 9, 2,                    // 3
                                                        5, 7, 1, 5, 7, 3,           // 4 and 5
                                                        8, 7, 1})
          .value();
  arguments.lengths = integers({40, 40, 40, 33, 32, 32, 32});
  arguments.bias = random_floats({1, 1, 3 * kTexts, 48}, 6);
  for (const InstructionSet set : kSets) {
    if (!is_available(set)) continue;
    const Tensor together = arguments.cross(attend_functions(set)).value();
    const Tensor kept =
        Tensor::copy_of(together.dtype(), together.shape(), together.bytes()).value();
    for (std::int64_t token = 0; token < 3 * kTexts; ++token) {
      AttentionCase alone = arguments;
      for (Tensor AttentionCase::* const member :
           {&AttentionCase::query, &AttentionCase::rows, &AttentionCase::out}) {
        alone.*member = taken(arguments.*member, 0, {token});
      }
      alone.bias = taken(*arguments.bias, 2, {token});
      const Tensor found = alone.cross(attend_functions(set)).value();
      EXPECT_TRUE(std::ranges::equal(found.bytes(), taken(kept, 0, {token}).bytes()));
    }
  }
}

}  // namespace
}  // namespace polystate
