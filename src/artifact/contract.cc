#include "polystate/artifact/contract.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "artifact/contract_messages.h"
#include "artifact/value_scan.h"
#include "core/bools.h"
#include "polystate/artifact/expression.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.empty() || b.empty()) return false;
  const std::less<> before;
  return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

// One call's inputs against a method's contract. The checks run in this order: each relies on those
// before it.
class ContractCheck {
 public:
  ContractCheck(const MethodSpec& method, std::span<const Tensor> inputs)
      : method_(method), inputs_(inputs) {
    assert(method.symbols.size() <= symbols_.size());
  }

  Status run() {
    if (inputs_.size() != method_.inputs.size()) return wrong_count(method_, inputs_.size());
    if (Status status = for_each_input(&ContractCheck::check_kind); !status) return status;
    if (Status status = read_symbols(); !status) return status;
    if (Status status = for_each_input(&ContractCheck::check_sizes); !status) return status;
    if (Status status = check_guards(); !status) return status;
    if (Status status = for_each_input(&ContractCheck::check_values); !status) return status;
    return for_each_input(&ContractCheck::check_written);
  }

 private:
  [[nodiscard]] std::span<const std::int64_t> symbols() const {
    return std::span(symbols_).first(method_.symbols.size());
  }

  [[nodiscard]] Result<std::int64_t> value_of(const Expression& expression) const {
    const Expression::Step& first = expression.steps()[0];
    if (expression.is_constant()) return first.operand;
    if (expression.steps().size() == 1) return symbols_[static_cast<std::size_t>(first.operand)];
    return expression.evaluate(symbols());
  }

  Status for_each_input(Status (ContractCheck::*check)(std::size_t) const) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (Status status = (this->*check)(i); !status) return status;
    }
    return {};
  }

  [[nodiscard]] Status check_kind(std::size_t input) const {
    const InputSpec& expected = method_.inputs[input];
    if (inputs_[input].dtype() != expected.dtype) {
      return wrong_dtype(method_, input, inputs_[input]);
    }
    if (inputs_[input].shape().size() != expected.shape.size()) {
      return wrong_rank(method_, input, inputs_[input]);
    }
    return {};
  }

  Status read_symbols() {
    for (std::size_t i = 0; i < method_.symbols.size(); ++i) {
      const Symbol& symbol = method_.symbols[i];
      const std::int64_t size = inputs_[symbol.input].shape()[symbol.dimension];
      std::int64_t scaled = 0;
      const bool overflows = __builtin_sub_overflow(size, symbol.offset, &scaled);
      if (overflows || scaled % symbol.scale != 0) return not_whole(method_, symbol, size);
      symbols_[i] = scaled / symbol.scale;
      if (symbols_[i] < symbol.min || symbols_[i] > symbol.max) {
        return out_of_range(method_, symbol, size);
      }
    }
    return {};
  }

  [[nodiscard]] Status check_sizes(std::size_t input) const {
    const std::vector<Expression>& shape = method_.inputs[input].shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Result<std::int64_t> size = value_of(shape[d]);
      if (!size || *size != inputs_[input].shape()[d]) {
        return wrong_size(method_, {input, d, inputs_[input].shape()[d]}, symbols(), size);
      }
    }
    return {};
  }

  [[nodiscard]] Status check_guards() const {
    for (const Guard& guard : method_.guards) {
      const Result<std::int64_t> holds = value_of(guard.condition);
      if (!holds || *holds == 0) return guard_broken(method_, guard, symbols(), holds);
    }
    return {};
  }

  // The value of a limit; `unlimited` where there is none.
  [[nodiscard]] Result<std::int64_t> limit_of(const std::optional<Expression>& limit,
                                              std::int64_t unlimited) const {
    return limit ? value_of(*limit) : Result<std::int64_t>(unlimited);
  }

  [[nodiscard]] Status check_values(std::size_t input) const {
    if (has_bad_bool(inputs_[input].dtype(), inputs_[input].bytes())) {
      return bad_bool(method_, input);
    }
    constexpr auto kInt64 = std::numeric_limits<std::int64_t>();
    for (const ValueRange& range : method_.inputs[input].values) {
      const Result<std::int64_t> min = limit_of(range.min, kInt64.min());
      const Result<std::int64_t> max = limit_of(range.max, kInt64.max());
      if (!min) return unknown_limit(method_, input, range, min.error());
      if (!max) return unknown_limit(method_, input, range, max.error());
      const std::optional<std::size_t> element = find_outside(inputs_[input], *min, *max);
      if (element) {
        return wrong_value(method_, input, inputs_[input], range, {*element, *min, *max});
      }
    }
    return {};
  }

  [[nodiscard]] Status check_written(std::size_t input) const {
    if (!method_.inputs[input].written_from) return {};
    if (!inputs_[input].writable()) return read_only(method_, input);
    for (std::size_t other = 0; other < inputs_.size(); ++other) {
      if (other == input || !overlap(inputs_[input].bytes(), inputs_[other].bytes())) continue;
      return overlapping(method_, input, other);
    }
    return {};
  }

  const MethodSpec& method_;
  std::span<const Tensor> inputs_;
  // Set by read_symbols, as far as the method has symbols.
  std::array<std::int64_t, Manifest::kMaxSymbols> symbols_;
};

}  // namespace

Status check_contract(const MethodSpec& method, std::span<const Tensor> inputs) {
  return ContractCheck(method, inputs).run();
}

}  // namespace polystate
