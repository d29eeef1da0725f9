#include "runner/fake_token_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "artifact/tiny_artifact.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/engine.h"
#include "polystate/session/model.h"
#include "runner/fake_token_manifest.h"
#include "sampler/random.h"
#include "support/fake_manifest.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

constexpr std::int64_t kNothing = -1;  // in a place that was never written

// What a place has in the pages of a window, from what the place before has: 0 for the first.
std::int64_t digest_at(std::int64_t before, std::int64_t token) {
  const std::uint64_t mixed = sampler::mix(static_cast<std::uint64_t>(before * 64 + token + 1));
  return static_cast<std::int64_t>(mixed >> 8U);
}

// A pool of pages, which hold tokens.
class TokenPages {
 public:
  TokenPages(std::int64_t pages, std::int64_t page_size)
      : page_size_(page_size), tokens_(static_cast<std::size_t>(pages * page_size), kNothing) {}

  std::int64_t& at(std::span<const std::int64_t> table, std::int64_t position) {
    const std::int64_t page = table[static_cast<std::size_t>(position / page_size_)];
    return tokens_[static_cast<std::size_t>(page * page_size_ + position % page_size_)];
  }
  std::vector<std::int64_t> read(std::span<const std::int64_t> table, std::int64_t length,
                                 std::int64_t first = 0) {
    std::vector<std::int64_t> tokens;
    for (std::int64_t position = first; position < length; ++position) {
      tokens.push_back(at(table, position));
      EXPECT_NE(tokens.back(), kNothing) << "position " << position << " was never written";
    }
    return tokens;
  }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(tokens_)); }
  void copy(std::int64_t source, std::int64_t target) {
    std::copy_n(tokens_.begin() + source * page_size_, page_size_,
                tokens_.begin() + target * page_size_);
  }

 private:
  std::int64_t page_size_;
  std::vector<std::int64_t> tokens_;
};

std::span<const std::int64_t> row(const Tensor& matrix, std::size_t index) {
  const auto columns = static_cast<std::size_t>(matrix.shape()[1]);
  return matrix.values<std::int64_t>().subspan(index * columns, columns);
}

// The name of a method, and of its inputs.
struct MethodNames {
  std::string name;
  std::vector<std::string> inputs;
};

std::vector<MethodNames> method_names(const FakeTokenModel& fake) {
  std::vector<MethodNames> all;
  for (const FakeManifest::Method& each : fake_methods(fake)) {
    MethodNames& next = all.emplace_back(MethodNames{each.name, {}});
    for (const FakeManifest::Input& input : each.inputs) next.inputs.push_back(input.name);
  }
  return all;
}

// The inputs of a call by their names.
class NamedInputs {
 public:
  NamedInputs(const MethodNames& names, std::span<const Tensor> inputs)
      : names_(names.inputs), inputs_(inputs) {}

  [[nodiscard]] const Tensor& operator[](std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    return inputs_[static_cast<std::size_t>(found - names_.begin())];
  }
  [[nodiscard]] std::span<const std::int64_t> values(std::string_view name) const {
    return (*this)[name].values<std::int64_t>();
  }

 private:
  std::span<const std::string> names_;
  std::span<const Tensor> inputs_;
};

// The logits for a source and what a token sees of its own sequence.
std::vector<float> logits_of(const FakeTokenModel& fake, std::span<const std::int64_t> source,
                             std::span<const std::int64_t> seen) {
  std::uint64_t hash = fake.seed;
  const auto add = [&hash](std::int64_t token) {
    hash = sampler::mix(hash ^ static_cast<std::uint64_t>(token));
  };
  for (const std::int64_t token : source) add(token);
  add(-1);  // so that a token of the source is none of the sequence
  for (const std::int64_t each : seen) add(each);
  std::vector<float> logits;
  for (std::int64_t token = 0; token < fake.vocabulary_size; ++token) {
    const std::uint64_t bits = sampler::mix(hash + static_cast<std::uint64_t>(token));
    logits.push_back(static_cast<float>(bits >> 40U) * 0x1p-24F * fake.scale);
  }
  return logits;
}

class FakeSession final : public EngineSession {
 public:
  explicit FakeSession(std::shared_ptr<FakeTokenModel> fake)
      : fake_(std::move(fake)),
        methods_(method_names(*fake_)),
        self_(self_pages(*fake_), fake_->page_size),
        windowed_(window_pages(*fake_), fake_->page_size),
        cross_(cross_pages(*fake_), fake_->page_size) {}

  Result<std::vector<Tensor>> run(std::size_t method, std::span<const Tensor> inputs) override {
    const std::lock_guard lock(fake_->mutex);
    if (fake_->calls++ == fake_->fails_at) {
      return Error{ErrorCode::kEngine, "the fake engine fails"};
    }
    const NamedInputs named(methods_[method], inputs);
    if (methods_[method].name == "encode") return encode(named);
    if (methods_[method].name == "forward") return forward(named);
    const bool all = methods_[method].name == "copy_pages" && fake_->sees_all;
    return copy_pages(named, all ? self_ : windowed_);
  }
  [[nodiscard]] bool state_intact() const override { return false; }
  [[nodiscard]] std::span<std::byte> state(std::size_t index) override {
    return (index == 0 && fake_->sees_all ? self_ : windowed_).bytes();
  }
  void reset() override {
    const std::lock_guard lock(fake_->mutex);
    ++fake_->resets;
    self_ = TokenPages(self_pages(*fake_), fake_->page_size);
    windowed_ = TokenPages(window_pages(*fake_), fake_->page_size);
    cross_ = TokenPages(cross_pages(*fake_), fake_->page_size);
  }
  Result<std::vector<std::byte>> take_profile() override { return std::vector<std::byte>(); }

 private:
  Result<std::vector<Tensor>> encode(const NamedInputs& inputs) {
    ++fake_->encodes;
    const Tensor& ids = inputs["input_ids"];
    const Tensor& table = inputs["cross_table"];
    const auto tokens = static_cast<std::int64_t>(ids.element_count());
    fake_->encoded_tokens += tokens;
    fake_->most_encoded = std::max(fake_->most_encoded, tokens);
    const auto lengths = inputs.values("lengths");
    EXPECT_GE(table.shape()[1] * fake_->page_size, ids.shape()[1]);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      for (std::int64_t position = 0; position < lengths[i]; ++position) {
        cross_.at(row(table, i), position) = row(ids, i)[static_cast<std::size_t>(position)];
      }
    }
    return std::vector<Tensor>();
  }

  Result<std::vector<Tensor>> forward(const NamedInputs& inputs) {
    const auto tokens = inputs.values("input_ids");
    const auto positions = inputs.values("positions");
    const auto rows = inputs.values("rows");
    count(inputs);
    if (fake_->sees_all) {
      write(inputs, "page_table", self_, [&](std::size_t token, auto) { return tokens[token]; });
    }
    if (fake_->window > 0) {
      write(inputs, windowed_name(), windowed_, [&](std::size_t token, std::int64_t before) {
        return digest_at(before, tokens[token]);
      });
    }
    std::vector<float> all;
    for (const std::int64_t token : inputs.values("wanted")) {
      EXPECT_LT(token, std::ssize(tokens));
      const auto place = static_cast<std::size_t>(token);
      const auto sequence = static_cast<std::size_t>(rows[place]);
      const auto seen = seen_by(inputs, sequence, positions[place]);
      const auto logits = logits_of(*fake_, source_of(inputs, sequence), seen);
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return std::vector<Tensor>{
        Tensor::of({inputs["wanted"].shape()[0], fake_->vocabulary_size}, all).value()};
  }

  [[nodiscard]] std::string_view windowed_name() const {
    return fake_->sees_all ? "window_table" : "page_table";
  }

  // Writes into the place of each token what `value` says of it and of what the place before it
  // has, which is 0 before the first.
  template <typename Value>
  void write(const NamedInputs& inputs, std::string_view table_name, TokenPages& pages,
             const Value& value) {
    const auto positions = inputs.values("positions");
    const auto rows = inputs.values("rows");
    const Tensor& table = inputs[table_name];
    std::vector<std::size_t> order(positions.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t token) { return positions[token]; });
    std::set<const std::int64_t*> written;
    for (const std::size_t token : order) {
      EXPECT_LT(rows[token], table.shape()[0]);
      EXPECT_GT(table.shape()[1] * fake_->page_size, positions[token]);
      const auto of_row = row(table, static_cast<std::size_t>(rows[token]));
      std::int64_t& place = pages.at(of_row, positions[token]);
      EXPECT_TRUE(written.insert(&place).second) << "two tokens are written to one place";
      const std::int64_t position = positions[token];
      place = value(token, position == 0 ? 0 : pages.at(of_row, position - 1));
    }
  }

  // What a token at a position sees.
  std::vector<std::int64_t> seen_by(const NamedInputs& inputs, std::size_t sequence,
                                    std::int64_t position) {
    std::vector<std::int64_t> seen;
    if (fake_->sees_all) seen = self_.read(row(inputs["page_table"], sequence), position + 1);
    if (fake_->window > 0) {
      const std::int64_t first = std::max(std::int64_t{0}, position + 1 - fake_->window);
      const auto digests =
          windowed_.read(row(inputs[windowed_name()], sequence), position + 1, first);
      seen.insert(seen.end(), digests.begin(), digests.end());
    }
    return seen;
  }

  // Counts what a call of forward was asked for.
  void count(const NamedInputs& inputs) {
    const std::size_t tokens = inputs["input_ids"].element_count();
    ++fake_->steps;
    fake_->most_rows =
        std::max(fake_->most_rows, static_cast<std::size_t>(inputs["page_table"].shape()[0]));
    fake_->most_tokens = std::max(fake_->most_tokens, tokens);
    fake_->tokens += static_cast<std::int64_t>(tokens);
    fake_->logits += inputs["wanted"].shape()[0];
    if (!fake_->uncounted) return;
    const auto counted = inputs.values("counted");
    fake_->counted.assign(counted.begin(), counted.end());
  }

  // What a sequence sees.
  std::vector<std::int64_t> source_of(const NamedInputs& inputs, std::size_t sequence) {
    if (fake_->max_source_length == 0) return {};
    return cross_.read(row(inputs["cross_table"], sequence),
                       inputs.values("cross_lengths")[sequence]);
  }

  Result<std::vector<Tensor>> copy_pages(const NamedInputs& inputs, TokenPages& pages) {
    ++fake_->copies;
    const auto sources = inputs.values("source");
    const auto targets = inputs.values("target");
    const std::set<std::int64_t> written(targets.begin(), targets.end());
    EXPECT_EQ(written.size(), targets.size()) << "a page is written twice";
    for (const std::int64_t source : sources) {
      EXPECT_FALSE(written.contains(source)) << "page " << source << " is a source and a target";
    }
    for (std::size_t i = 0; i < sources.size(); ++i) pages.copy(sources[i], targets[i]);
    return std::vector<Tensor>();
  }

  std::shared_ptr<FakeTokenModel> fake_;
  std::vector<MethodNames> methods_;
  TokenPages self_;
  TokenPages windowed_;
  TokenPages cross_;
};

class FakeEngine final : public Engine {
 public:
  FakeEngine(std::shared_ptr<FakeTokenModel> fake, std::unique_ptr<TemporaryFolder> folder)
      : fake_(std::move(fake)), folder_(std::move(folder)) {}

  Result<std::unique_ptr<EngineSession>> new_session(const SessionOptions& options) const override {
    ++(options.single_threaded ? fake_->single_threaded_sessions : fake_->sessions);
    return std::unique_ptr<EngineSession>(std::make_unique<FakeSession>(fake_));
  }
  [[nodiscard]] std::uint64_t state_bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t activation_bytes() const override { return 0; }
  [[nodiscard]] std::size_t sessions_side_by_side() const override { return fake_->threads; }
  void parallel_for(std::size_t count,
                    const std::function<void(std::size_t index)>& task) const override {
    if (fake_->threads == 1 || fake_->is_serial) return Engine::parallel_for(count, task);
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back(task, i);
    if (count > 0) task(0);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::shared_ptr<FakeTokenModel> fake_;
  std::unique_ptr<TemporaryFolder> folder_;  // of the artifact, which is read while it is open
};

}  // namespace

Model make_model(const std::shared_ptr<FakeTokenModel>& fake) {
  auto folder = std::make_unique<TemporaryFolder>();
  TinyArtifact artifact;
  artifact.files = {{"manifest.json", fake_manifest(*fake)}, {"model.pte", "w"}};
  if (!fake->generation_config.empty()) {
    artifact.files["generation_config.json"] = fake->generation_config;
  }
  artifact.seal();
  artifact.write(*folder / "artifact");
  auto opened = Artifact::open(*folder / "artifact");
  EXPECT_TRUE(opened) << opened.error().message;
  return Model::create(std::move(opened).value(),
                       std::make_unique<FakeEngine>(fake, std::move(folder)));
}

std::vector<float> fake_logits(const FakeTokenModel& fake, std::span<const std::int64_t> source,
                               std::span<const std::int64_t> tokens) {
  if (fake.window == 0) return logits_of(fake, source, tokens);
  std::vector<std::int64_t> digests;
  std::int64_t before = 0;
  for (const std::int64_t token : tokens) digests.push_back(before = digest_at(before, token));
  std::vector<std::int64_t> seen;
  if (fake.sees_all) seen.assign(tokens.begin(), tokens.end());
  const auto count = std::min(std::ssize(digests), static_cast<std::ptrdiff_t>(fake.window));
  seen.insert(seen.end(), digests.end() - count, digests.end());
  return logits_of(fake, source, seen);
}

std::shared_ptr<FakeTokenModel> decoder_alone() {
  auto fake = std::make_shared<FakeTokenModel>();
  fake->max_source_length = 0;
  return fake;
}

std::shared_ptr<FakeTokenModel> windowed_decoder(std::int64_t window, bool sees_all) {
  auto fake = decoder_alone();
  fake->window = window;
  fake->sees_all = sees_all;
  return fake;
}

}  // namespace polystate
