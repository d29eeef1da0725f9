#include "pipeline/chat_prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/chat_messages.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

using testing::ElementsAre;

// A letter is a token; "ab" is one, too, where an answer spells it so. <e> is a control token.
constexpr std::string_view kLetters = R"({
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [
    {"id": 0, "content": "<e>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true}],
  "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
  "model": {"type": "BPE", "unk_token": null, "merges": [["c", "d"]],
            "vocab": {"<e>": 0, "a": 1, "b": 2, "ab": 3, "c": 4, "d": 5, "cd": 6, "u": 7}}})";
constexpr std::string_view kTemplate =
    "{% for m in messages %}{{ 'u' if m.role == 'user' }}{{ m.content }}{{ end }}{% endfor %}";

class ChatPrompts : public testing::Test {
 protected:
  ChatPrompt prompt_of(const std::vector<TemplateValue>& messages,
                       const std::vector<GeneratedAnswer>& answers, const char* end = "<e>") {
    ChatInput input;
    input.messages = TemplateValue::list(messages).value();
    input.chat_template = std::string(kTemplate);
    input.variables = {{"end", TemplateValue::string(end, true)}};
    const RenderedChat chat = templates_.render(input).value();
    return make_chat_prompt({*tokenizer_, templates_, true}, chat, answers).value();
  }

  static TemplateValue user(std::string_view text) {
    return make_message("user", TemplateValue::string(text));
  }
  static TemplateValue answer(std::string_view text) {
    return make_message("assistant", TemplateValue::answer(text));
  }

  std::shared_ptr<const Tokenizer> tokenizer_ =
      Tokenizer::parse(TokenizerFormat::kTokenizerJson, kLetters).value();
  ChatTemplates templates_;
  std::vector<TokenId> ab_ = {3};
  std::vector<TokenId> c_ = {4};
};

TEST_F(ChatPrompts, KeepAnAnswersIdsAndNobodyElses) {
  const ChatPrompt prompt = prompt_of({user("ab"), answer("ab"), user("ab")}, {{ab_, "ab"}});
  EXPECT_THAT(prompt.ids, ElementsAre(7, 1, 2, 0, 3, 0, 7, 1, 2, 0));
  EXPECT_EQ(prompt.encoded_again, 0);
}

TEST_F(ChatPrompts, EncodeAnAnswerAgainThatIsRenderedOtherwise) {
  const ChatPrompt prompt = prompt_of({user("c"), answer("a")}, {{ab_, "ab"}});
  EXPECT_THAT(prompt.ids, ElementsAre(7, 4, 0, 1, 0));
  EXPECT_EQ(prompt.encoded_again, 1);
  // An answer that is left out takes nothing of the next one's.
  const ChatPrompt second = prompt_of({user("c"), answer("ab")}, {{c_, "c"}, {ab_, "ab"}});
  EXPECT_THAT(second.ids, ElementsAre(7, 4, 0, 3, 0));
  EXPECT_EQ(second.encoded_again, 1);
}

TEST_F(ChatPrompts, EncodeByItselfWhatATokenWouldReachOverTheEndOf) {
  const ChatPrompt prompt = prompt_of({answer("c")}, {{c_, "c"}}, "d");
  EXPECT_THAT(prompt.ids, ElementsAre(4, 5)) << "and not cd, which is 6";
}

}  // namespace
}  // namespace polystate
