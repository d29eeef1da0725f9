// The templates of a folder; tests/python/chat_template compares them with transformers.

#include "polystate/chat_template/chat_templates.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

void write(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

ChatInput one_message() {
  ChatInput input;
  input.messages =
      TemplateValue::parse_json(R"([{"role": "user", "content": "Hi", "name": null}])").value();
  return input;
}

TEST(ChatTemplates, FilesTakeThePlaceOfTheConfiguration) {
  const TemporaryFolder folder;
  write(folder.path() / "tokenizer_config.json",
        R"({"chat_template": "config", "bos_token": {"content": "<s>"}, "eos_token": "</s>"})");
  EXPECT_EQ(ChatTemplates::open(folder.path()).value().render(one_message()).value().text.text,
            "config");
  write(folder.path() / "chat_template.jinja", "{{ bos_token }}{{ messages[0].name is defined }}");
  const ChatTemplates templates = ChatTemplates::open(folder.path()).value();
  EXPECT_EQ(templates.render(one_message()).value().text.text, "<s>False");
  EXPECT_EQ(templates.special_tokens().at("eos_token"), "</s>");
  write(folder.path() / "additional_chat_templates" / "tool_use.jinja", "for tools");
  ChatInput input = one_message();
  input.tools = TemplateValue::list({}).value();
  EXPECT_EQ(ChatTemplates::open(folder.path()).value().render(input).value().text.text,
            "for tools");
}

TEST(ChatTemplates, AFolderMayHaveNone) {
  const TemporaryFolder folder;
  const ChatTemplates templates = ChatTemplates::open(folder.path()).value();
  EXPECT_TRUE(templates.names().empty());
  EXPECT_EQ(templates.render(one_message()).error().code, ErrorCode::kContract);
}

TEST(ChatTemplates, AMalformedTemplateIsAnErrorWhereItIsUsed) {
  const TemporaryFolder folder;
  write(folder.path() / "chat_template.jinja", "{% if %}");
  const ChatTemplates templates = ChatTemplates::open(folder.path()).value();
  EXPECT_EQ(templates.render(one_message()).error().code, ErrorCode::kContract);
  ChatInput input = one_message();
  input.chat_template = "{{ messages[0].content }}";
  EXPECT_EQ(templates.render(input).value().text.text, "Hi");
}

TEST(ChatTemplates, ADamagedConfigurationIsAnError) {
  for (const std::string_view content :
       {"", "{", "[]", R"({"chat_template": 5})", R"({"chat_template": [{"name": "a"}]})",
        R"({"chat_template": [5]})", R"({"chat_control_tokens": "a"})", "\xFF"}) {
    const TemporaryFolder folder;
    write(folder.path() / "tokenizer_config.json", content);
    const Result<ChatTemplates> templates = ChatTemplates::open(folder.path());
    ASSERT_FALSE(templates) << content;
    EXPECT_EQ(templates.error().code, ErrorCode::kArtifact) << content;
  }
}

// NOLINTBEGIN(bugprone-use-after-move)
TEST(TemplateValue, OneThatWasMovedFromIsNone) {
  TemplateValue value = TemplateValue::integer(5);
  const TemplateValue taken = std::move(value);
  EXPECT_EQ(taken, TemplateValue::integer(5));
  EXPECT_EQ(value, TemplateValue());
  EXPECT_EQ(value.to_json().value(), "null");
  const TemplateValue copy = value;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy, TemplateValue());
  value = taken;
  EXPECT_EQ(value, taken);
}
// NOLINTEND(bugprone-use-after-move)

TEST(ChatTemplates, RolesThatAreKnownAreTrusted) {
  ChatInput input;
  input.messages =
      TemplateValue::parse_json(R"([{"role": "user", "content": "user"}, {"role": "other"}])")
          .value();
  input.chat_template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";
  const RenderedText text = ChatTemplates().render(input).value().text;
  EXPECT_EQ(text.text, "<user>user<other>");
  EXPECT_EQ(text.users, (std::vector<ByteRange>{{6, 10}, {11, 16}}));
}

}  // namespace
}  // namespace polystate
