#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pipeline/text_pipeline.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/grammar/response_format.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/tokenizer/tokenizer.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"

namespace polystate {
namespace {

// Token 1 ends a text; the other tokens are characters.
std::shared_ptr<const Tokenizer> letters_and_digits() {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::string vocabulary = R"("<pad>": 0, "<end>": 1, " ": 2, "?": 3)";
  for (std::size_t i = 0; i < kCharacters.size(); ++i) {
    vocabulary += ", \"" + std::string(1, kCharacters[i]) + "\": " + std::to_string(4 + i);
  }
  return Tokenizer::parse(TokenizerFormat::kTokenizerJson,
                          R"({"version": "1.0", "truncation": null, "padding": null,
      "normalizer": {"type": "Lowercase"},
      "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\w+|\\W"}, "behavior": "Isolated",
                        "invert": false},
      "post_processor": null, "decoder": {"type": "Fuse"}, "added_tokens": [
        {"id": 1, "content": "<end>", "single_word": false, "lstrip": false, "rstrip": false,
         "normalized": false, "special": true}],
      "model": {"type": "BPE", "unk_token": "?", "merges": [], "vocab": {)" +
                              vocabulary + "}}}")
      .value();
}

std::unique_ptr<Pipeline> pipeline_over(const std::shared_ptr<FakeTokenModel>& fake) {
  return std::make_unique<TextPipeline>("text-generation", letters_and_digits(), open_fake(fake));
}

PipelineOptions options(std::int64_t beams = 1) {
  PipelineOptions found;
  GenerationConfig& config = found.config.emplace(config_with_beams(beams));
  config.max_new_tokens = 9;
  return found;
}

std::string joined(const Result<std::vector<std::vector<GeneratedText>>>& answers) {
  std::string text;
  for (const auto& of_input : answers.value()) {
    for (const GeneratedText& answer : of_input) text += answer.text + "|";
  }
  return text;
}

// What a caller may ask of a pipeline, as a text that says what came of it.
using Call = std::function<std::string(Pipeline&)>;

Call texts(std::int64_t beams) {
  return [beams](Pipeline& pipeline) {
    return joined(pipeline.run(std::vector<std::string>{"some text", "more"}, options(beams)));
  };
}

std::string streamed(Pipeline& pipeline) {
  std::string pieces;
  PipelineOptions asked = options();
  asked.on_text = [&](std::size_t, std::string_view piece) {
    pieces += piece;
    return true;
  };
  return joined(pipeline.run(std::vector<std::string>{"a stream"}, asked)) + pieces;
}

Call formatted(const std::string& pattern) {
  return [pattern](Pipeline& pipeline) {
    PipelineOptions asked = options();
    asked.response_format = ResponseFormat{.kind = ResponseFormat::Kind::kRegex, .text = pattern};
    return joined(pipeline.run(std::vector<std::string>{"number"}, asked));
  };
}

std::string chats(Pipeline& pipeline) {
  ChatInput chat;
  chat.messages = TemplateValue::parse_json(R"([{"role": "user", "content": "hello"}])").value();
  chat.chat_template = "{% for m in messages %}{{ m.role ~ ' ' ~ m.content | upper }}{% endfor %}";
  return joined(pipeline.run_chats(std::span(&chat, 1), options()));
}

std::string scores(Pipeline& pipeline) {
  const std::vector<std::string> text = {"a text of more characters than fit into the fake model"};
  return std::to_string(pipeline.score(text).value().front().logprob);
}

TEST(ResponseFormat, IsOfAllTokensThatTheConfigurationDoesNotForce) {
  const auto pipeline = pipeline_over(decoder_alone());
  PipelineOptions asked = options();
  asked.response_format = ResponseFormat{.kind = ResponseFormat::Kind::kRegex, .text = "[0-9]{4}"};
  GenerationConfig& config = asked.config.emplace(config_with_beams(1));
  config.max_new_tokens = 9;
  config.forced_bos_token_id = 4;  // a
  const auto answers = pipeline->run(std::vector<std::string>{"number", "n"}, asked).value();
  // The second token of a sequence is forced, which only the shorter prompt leaves to it.
  for (const std::size_t prompt : {0U, 1U}) {
    const std::string& text = answers[prompt].front().text;
    EXPECT_EQ(text.substr(0, prompt), std::string(prompt, 'a')) << text;
    EXPECT_EQ(text.size(), prompt + 4) << text;
    EXPECT_EQ(text.find_first_not_of("0123456789", prompt), std::string::npos) << text;
  }
}

TEST(SharedPipeline, AnswersEachOfManyThreadsAsItAnswersOneAlone) {
  const std::vector<Call> calls = {texts(1), texts(3), formatted("[0-9]{4}"),
                                   streamed, chats,    formatted("(yes|no) [a-c]+"),
                                   scores};
  const auto fake = decoder_alone();
  fake->max_length = 40;
  std::vector<std::string> alone;
  alone.reserve(calls.size());
  for (const Call& call : calls) alone.push_back(call(*pipeline_over(fake)));

  const auto pipeline = pipeline_over(fake);
  std::vector<std::vector<std::string>> found(2 * calls.size());
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (std::size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < calls.size(); ++i) {
        found[t].push_back(calls[(t + i) % calls.size()](*pipeline));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < found.size(); ++t) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::size_t call = (t + i) % calls.size();
      EXPECT_EQ(found[t][i], alone[call]) << "call " << call << " of thread " << t;
    }
  }
  EXPECT_TRUE(alone[2].size() == 5 && alone[2].find_first_not_of("0123456789") == 4) << alone[2];
}

}  // namespace
}  // namespace polystate
