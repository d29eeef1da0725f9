#include "runner/fake_encoder_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "artifact/tiny_artifact.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/engine/engine.h"
#include "polystate/session/model.h"
#include "sampler/random.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

using nlohmann::json;

constexpr std::int64_t kNothing = -1;  // in a place that was never written

std::int64_t pages_for(const FakeEncoderDecoder& fake, std::int64_t positions) {
  return (positions + fake.page_size - 1) / fake.page_size;
}

// The pools' sizes.
std::int64_t pages(const FakeEncoderDecoder& fake) {
  return fake.pages > 0 ? fake.pages : fake.max_batch * pages_for(fake, fake.max_length);
}
std::int64_t cross_pages(const FakeEncoderDecoder& fake) {
  return fake.cross_pages > 0 ? fake.cross_pages
                              : fake.max_batch * pages_for(fake, fake.max_source_length);
}

json symbol(const std::string& name, int input, int dimension, std::int64_t max) {
  return {{"name", name}, {"input", input}, {"dimension", dimension}, {"min", 1}, {"max", max},
          {"scale", 1},   {"offset", 0}};
}

json input(const std::string& name, const std::vector<json>& shape) {
  return {{"name", name},
          {"dtype", "int64"},
          {"shape", shape},
          {"values", json::array()},
          {"written_from", nullptr}};
}

json method(const std::string& name, const std::vector<json>& symbols,
            const std::vector<json>& inputs) {
  return {{"name", name},
          {"symbols", symbols},
          {"inputs", inputs},
          {"outputs", json::array()},
          {"guards", json::array()},
          {"checks", json::array()},
          {"reads", json::array()},
          {"writes", json::array()},
          {"atomic", false},
          {"checks_first", true},
          {"activation_bytes", 0}};
}

json methods(const FakeEncoderDecoder& fake) {
  const std::int64_t columns = pages_for(fake, fake.max_length);
  const std::int64_t cross_columns = pages_for(fake, fake.max_source_length);
  const json encode =
      method("encode",
             {symbol("batch", 0, 0, fake.max_batch), symbol("source", 0, 1, fake.max_source_length),
              symbol("m", 2, 1, cross_columns)},
             {input("input_ids", {"batch", "source"}), input("lengths", {"batch"}),
              input("cross_table", {"batch", "m"})});
  json decode = method("decode",
                       {symbol("rows", 0, 0, fake.max_batch), symbol("n", 2, 1, columns),
                        symbol("m", 3, 1, cross_columns)},
                       {input("input_ids", {"rows", 1}), input("positions", {"rows"}),
                        input("page_table", {"rows", "n"}), input("cross_table", {"rows", "m"}),
                        input("cross_lengths", {"rows"})});
  const json logits = {{"name", "logits"},
                       {"dtype", "float32"},
                       {"shape", json::array({"rows", fake.vocabulary_size})},
                       {"program_output", 0}};
  decode["outputs"] = json::array({logits});
  const json copy = method("copy_pages", {symbol("k", 0, 0, fake.max_batch)},
                           {input("source", {"k"}), input("target", {"k"})});
  return json::array({encode, decode, copy});
}

std::string manifest(const FakeEncoderDecoder& fake) {
  json files = {{"model.pte", 1}};
  if (!fake.generation_config.empty()) {
    files["generation_config.json"] = fake.generation_config.size();
  }
  const json document = {{"format", "polystate"},
                         {"format_version", 1},
                         {"versions", json::object()},
                         {"program",
                          {{"engine", "executorch"},
                           {"file", "model.pte"},
                           {"backend", "portable"},
                           {"quantization", nullptr},
                           {"operators", json::array()},
                           {"delegates", json::array()}}},
                         {"files", files},
                         {"constants",
                          {{"runner", "encoder_decoder"},
                           {"page_size", fake.page_size},
                           {"max_batch", fake.max_batch},
                           {"max_source_length", fake.max_source_length},
                           {"max_length", fake.max_length},
                           {"vocabulary_size", fake.vocabulary_size},
                           {"pages", pages(fake)},
                           {"cross_pages", cross_pages(fake)}}},
                         {"state", json::array()},
                         {"methods", methods(fake)},
                         {"golden", nullptr}};
  return document.dump();
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
  std::vector<std::int64_t> read(std::span<const std::int64_t> table, std::int64_t length) {
    std::vector<std::int64_t> tokens;
    for (std::int64_t position = 0; position < length; ++position) {
      tokens.push_back(at(table, position));
      EXPECT_NE(tokens.back(), kNothing) << "position " << position << " was never written";
    }
    return tokens;
  }
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

class FakeSession final : public EngineSession {
 public:
  explicit FakeSession(std::shared_ptr<FakeEncoderDecoder> fake)
      : fake_(std::move(fake)),
        self_(pages(*fake_), fake_->page_size),
        cross_(cross_pages(*fake_), fake_->page_size) {}

  Result<std::vector<Tensor>> run(std::size_t method, std::span<const Tensor> inputs) override {
    const std::lock_guard lock(fake_->mutex);
    if (fake_->calls++ == fake_->fails_at) {
      return Error{ErrorCode::kEngine, "the fake engine fails"};
    }
    if (method == 0) return encode(inputs);
    return method == 1 ? decode(inputs) : copy_pages(inputs);
  }
  [[nodiscard]] bool state_intact() const override { return false; }
  [[nodiscard]] std::span<std::byte> state(std::size_t) override { return {}; }
  void reset() override {
    const std::lock_guard lock(fake_->mutex);
    ++fake_->resets;
    self_ = TokenPages(pages(*fake_), fake_->page_size);
    cross_ = TokenPages(cross_pages(*fake_), fake_->page_size);
  }
  Result<std::vector<std::byte>> take_profile() override { return std::vector<std::byte>(); }

 private:
  Result<std::vector<Tensor>> encode(std::span<const Tensor> inputs) {
    ++fake_->encodes;
    const auto tokens = static_cast<std::int64_t>(inputs[0].element_count());
    fake_->encoded_tokens += tokens;
    fake_->most_encoded = std::max(fake_->most_encoded, tokens);
    const auto lengths = inputs[1].values<std::int64_t>();
    EXPECT_GE(inputs[2].shape()[1] * fake_->page_size, inputs[0].shape()[1]);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      for (std::int64_t position = 0; position < lengths[i]; ++position) {
        cross_.at(row(inputs[2], i), position) =
            row(inputs[0], i)[static_cast<std::size_t>(position)];
      }
    }
    return std::vector<Tensor>();
  }

  Result<std::vector<Tensor>> decode(std::span<const Tensor> inputs) {
    ++fake_->decodes;
    const auto tokens = inputs[0].values<std::int64_t>();
    const auto positions = inputs[1].values<std::int64_t>();
    const auto cross_lengths = inputs[4].values<std::int64_t>();
    fake_->most_rows = std::max(fake_->most_rows, tokens.size());
    fake_->decoded_rows += static_cast<std::int64_t>(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_GT(inputs[2].shape()[1] * fake_->page_size, positions[i]);
      self_.at(row(inputs[2], i), positions[i]) = tokens[i];
    }
    std::vector<float> all;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto source = cross_.read(row(inputs[3], i), cross_lengths[i]);
      const auto read = self_.read(row(inputs[2], i), positions[i] + 1);
      EXPECT_EQ(read.back(), tokens[i]) << "two rows write to one place";
      const auto logits = fake_logits(*fake_, source, read);
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return std::vector<Tensor>{
        Tensor::of({static_cast<std::int64_t>(tokens.size()), fake_->vocabulary_size}, all)
            .value()};
  }

  Result<std::vector<Tensor>> copy_pages(std::span<const Tensor> inputs) {
    ++fake_->copies;
    const auto sources = inputs[0].values<std::int64_t>();
    const auto targets = inputs[1].values<std::int64_t>();
    const std::set<std::int64_t> written(targets.begin(), targets.end());
    EXPECT_EQ(written.size(), targets.size()) << "a page is written twice";
    for (const std::int64_t source : sources) {
      EXPECT_FALSE(written.contains(source)) << "page " << source << " is a source and a target";
    }
    for (std::size_t i = 0; i < sources.size(); ++i) self_.copy(sources[i], targets[i]);
    return std::vector<Tensor>();
  }

  std::shared_ptr<FakeEncoderDecoder> fake_;
  TokenPages self_;
  TokenPages cross_;
};

class FakeEngine final : public Engine {
 public:
  FakeEngine(std::shared_ptr<FakeEncoderDecoder> fake, std::unique_ptr<TemporaryFolder> folder)
      : fake_(std::move(fake)), folder_(std::move(folder)) {}

  Result<std::unique_ptr<EngineSession>> new_session(
      const EngineSessionOptions& options) const override {
    ++(options.single_threaded ? fake_->single_threaded_sessions : fake_->sessions);
    return std::unique_ptr<EngineSession>(std::make_unique<FakeSession>(fake_));
  }
  [[nodiscard]] std::uint64_t state_bytes() const override { return 0; }
  [[nodiscard]] std::uint64_t activation_bytes() const override { return 0; }
  [[nodiscard]] std::size_t sessions_side_by_side() const override { return fake_->threads; }
  void parallel_for(std::size_t count,
                    const std::function<void(std::size_t index)>& task) const override {
    if (fake_->threads == 1) return Engine::parallel_for(count, task);
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back(task, i);
    if (count > 0) task(0);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::shared_ptr<FakeEncoderDecoder> fake_;
  std::unique_ptr<TemporaryFolder> folder_;  // of the artifact, which is read while it is open
};

}  // namespace

Model make_model(const std::shared_ptr<FakeEncoderDecoder>& fake) {
  auto folder = std::make_unique<TemporaryFolder>();
  TinyArtifact artifact;
  artifact.files = {{"manifest.json", manifest(*fake)}, {"model.pte", "w"}};
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

std::vector<float> fake_logits(const FakeEncoderDecoder& fake, std::span<const std::int64_t> source,
                               std::span<const std::int64_t> tokens) {
  std::uint64_t hash = fake.seed;
  const auto add = [&hash](std::int64_t token) {
    hash = sampler::mix(hash ^ static_cast<std::uint64_t>(token));
  };
  for (const std::int64_t token : source) add(token);
  add(-1);  // so that a token of the source is none of the sequence
  for (const std::int64_t token : tokens) add(token);
  std::vector<float> logits;
  for (std::int64_t token = 0; token < fake.vocabulary_size; ++token) {
    const std::uint64_t bits = sampler::mix(hash + static_cast<std::uint64_t>(token));
    logits.push_back(static_cast<float>(bits >> 40U) * 0x1p-24F * fake.scale);
  }
  return logits;
}

}  // namespace polystate
