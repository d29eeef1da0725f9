#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/grammar/response_format.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/stopping_criterion.h"

namespace polystate {

struct ChatEncoder;
struct ChatForm;
struct ChatText;

// A part of an answer that is being generated.
struct ChatPiece {
  enum class Kind : std::uint8_t {
    kContent,
    kThinking,
    // Of a call, as the model writes it. Where it turns out to be none, its text follows as
    // content.
    kCall
  };

  Kind kind = Kind::kContent;
  std::string_view text;
};

// What a conversation's template is given besides its messages, and how its answers are drawn.
struct ChatOptions {
  // What the model may call: a list of dictionaries as OpenAI has them, {"type": "function",
  // "function": {"name": ..., "description": ..., "parameters": a JSON schema}}.
  TemplateValue tools = {};
  // Whether it does: "auto", as it likes; "none": it is not shown the tools; "required": each
  // answer is calls; the name of one: each answer is a call of it. The arguments of a call are
  // those that the tool's schema finds valid; with "auto" as far as the calls' form has a beginning
  // of its own, and a grammar can follow all schemas (ChatAnswer::warnings says where not). To be
  // given with a single answer, most often:
  // see AnswerOptions.
  std::string tool_choice = "auto";
  TemplateValue documents = {};  // see ChatInput
  std::optional<std::string> chat_template = std::nullopt;
  std::vector<std::pair<std::string, TemplateValue>> variables = {};
  // Control tokens that messages spell are text: see encode_chat.
  bool sanitize_control_tokens = true;
  // Answers whose configuration has no seed are drawn by this one and their number, so that a
  // conversation can be repeated. Not given: a random one.
  std::optional<std::uint64_t> seed = std::nullopt;
};

// How one answer is generated. `keep`, `yields` and `name_of` have no effect.
struct AnswerOptions : CallOptions {
  // What the answer has to be; of one that goes on, what is added to it.
  std::optional<ResponseFormat> response_format = std::nullopt;
  // In place of ChatOptions::tool_choice.
  std::optional<std::string> tool_choice = std::nullopt;
  // Called with each piece of the answer's content; false ends the answer, which is kept so far.
  std::function<bool(std::string_view piece)> on_text = nullptr;
  // The same with pieces of all kinds.
  std::function<bool(const ChatPiece& piece)> on_piece = nullptr;
};

// What an answer cost.
struct ChatUsage : GenerationUsage {
  // Answers in the prompt whose tokens could not be kept, because the template renders them
  // otherwise than the model generated them: their text was encoded again.
  std::int64_t answers_encoded_again = 0;
  // Messages that the model did not see any more: see ContextPolicy::kSlide.
  std::int64_t messages_left_out = 0;
};

struct ChatAnswer {
  TemplateValue message;  // as it was appended: its role is "assistant"
  // Of what was generated now, without special tokens: the content, without thoughts and calls.
  std::string text;
  std::string thinking;
  // A list of {"type": "function", "function": {"name": ..., "arguments": a dictionary}}, with "id"
  // where the model or the template has ids; none where there is no call.
  TemplateValue tool_calls;
  FinishReason finish_reason = FinishReason::kUnfinished;
  ChatUsage usage;
  // What of the options had no effect, a sentence each; said once in a conversation.
  std::vector<std::string> warnings;
};

// A conversation with a chat model: messages in, answers out. A message is a dictionary with "role"
// and "content", as transformers has it.
//
// The text of an answer is read as a message: thoughts ("reasoning_content"), calls ("tool_calls")
// and content. How, the model's `response_template` says (see ResponseParser), or else the chat
// template: it is given a conversation with a known call, and the form is taken that finds that in
// what it writes. A call that is malformed is content. Results of calls are messages with the role
// "tool", and are answered by answer().
//
// An answer's own tokens are kept, where the template renders it as it was generated. What the
// model has read of the conversation is not read again: a turn computes what is new, also after
// messages were changed, taken back or repeated. An answer ends at an end token of the
// configuration, or at the token with which the template ends an answer.
//
// With `context` "slide", whole turns are left out, the oldest first, where an answer would not
// have max_new_tokens, or a quarter of the model's positions where that is less or not given: as
// many as leave half of the positions free. Leading messages of the system stay. Else a
// conversation that is too long is refused.
//
// After an error all is as it was before the call. One thread at a time uses a conversation; any
// number of them share one pipeline.
class Chat {
 public:
  // `pipeline` outlives it. kUnsupported: the model has an encoder, or no chat template. kContract:
  // a tool is malformed, or the template does not show tools, or writes calls in an unknown form.
  static Result<Chat> create(Pipeline& pipeline, ChatOptions options = {});
  // A saved conversation, which goes on as if it had never ended. It has its own seed; the other
  // options are not saved. kArtifact: the file is damaged; kUnsupported: it is of a newer version;
  // kContract: it is of another artifact; kIo: it cannot be read; else as create.
  static Result<Chat> load(Pipeline& pipeline, const std::filesystem::path& path,
                           ChatOptions options = {});

  // Saves messages, tokens, what the model's caches have of them, and the state of random numbers
  // into a file, which appears whole or not at all. kContract for messages that JSON cannot hold;
  // kIo.
  Status save(const std::filesystem::path& path) const;

  // Appends a message of the user, and what the model answers. kContract: the template refuses the
  // conversation, it is too long, or as Runner::generate.
  Result<ChatAnswer> ask(std::string_view text, const AnswerOptions& options = {});
  // Appends what the model answers to the messages as they are. Where the last one is an answer, it
  // goes on. Errors as ask; kContract where there is no message, or the last one has calls.
  Result<ChatAnswer> answer(const AnswerOptions& options = {});
  // Answers the last message of the user again: what followed it goes. kContract where there is
  // none.
  Result<ChatAnswer> retry(const AnswerOptions& options = {});

  [[nodiscard]] std::vector<TemplateValue> messages() const;
  // kContract: a message is no dictionary, or its "role" no text.
  Status add_message(TemplateValue message);
  // Appends the result of the last answer's first call that has no result yet, as a message with
  // the role "tool". Returns how many calls still lack one. kContract: no call waits for a result.
  Result<std::size_t> add_result(std::string_view result);
  // Messages that stay where they were are the same ones. Errors as add_message.
  Status set_messages(const std::vector<TemplateValue>& messages);
  // Has the conversation begin with a message of the system; without one where `text` is empty.
  void set_system(std::string_view text);
  // Takes back the last message of the user, and all after it. False if the user has said nothing.
  bool undo();
  // Takes back all but leading messages of the system.
  void reset();

  // What the model saw at the last answer, and that: [tokens].
  [[nodiscard]] std::span<const TokenId> tokens() const { return tokens_; }
  // How many tokens the messages have. Errors as ask.
  [[nodiscard]] Result<std::int64_t> count_tokens() const;
  // How many tokens a conversation may have, answers included.
  [[nodiscard]] std::int64_t max_tokens() const { return pipeline_->runner().max_length(); }

  // What answers start from: the pipeline's, with the template's own end tokens among the others.
  [[nodiscard]] const GenerationConfig& default_config() const { return config_; }

 private:
  struct Message {
    TemplateValue value;
    // Of an answer of the model's: its tokens without an end token, and their text after what came
    // before them.
    std::vector<TokenId> ids = {};
    std::string text = {};
  };
  struct Prompt;
  enum class Purpose : std::uint8_t { kAnswer, kCount };
  // How a prompt is made.
  struct PromptOptions {
    std::size_t left_out;  // messages after the leading ones
    bool shows_tools;
    Purpose purpose = Purpose::kAnswer;
  };

  Chat(Pipeline& pipeline, ChatOptions options);

  [[nodiscard]] ChatEncoder encoder() const;
  // What the template is given besides messages.
  [[nodiscard]] ChatInput input() const;

  [[nodiscard]] std::size_t leading_messages() const;
  // Which message is the last one of the user.
  [[nodiscard]] std::optional<std::size_t> last_of_user() const;
  // The messages that the model sees.
  [[nodiscard]] Result<Prompt> prompt_of(const PromptOptions& options) const;
  // What a prompt has of the answer to it, for what reads that.
  [[nodiscard]] std::string begun_answer(const RenderedText& prompt) const;
  // The prompt of the next answer, which has room for one.
  [[nodiscard]] Result<Prompt> next_prompt(const GenerationConfig& config, bool shows_tools) const;
  // How many messages to leave out where these are too few; nothing where one turn is left.
  [[nodiscard]] std::optional<std::size_t> leave_out_more(std::size_t left_out) const;
  Result<ChatAnswer> generate(const Prompt& prompt, GenerationConfig config,
                              const AnswerOptions& options);
  // How many calls of the last answer have no result.
  [[nodiscard]] std::size_t open_calls() const;
  // Whether the last message is an answer, which goes on.
  [[nodiscard]] bool continues_answer() const;
  // Has an answer be what its options ask for. Gives what constrain_begun_calls does.
  Result<std::string> constrain(const Prompt& prompt, const GenerationConfig& config,
                                const AnswerOptions& options, LogitsProcessors& processors) const;
  // Has calls be valid from where one begins, if their form and the tools' schemas allow it. Why
  // they do not; empty where they do, or it was said before.
  [[nodiscard]] Result<std::string> constrain_begun_calls(const Prompt& prompt,
                                                          const ConstrainedText& text,
                                                          LogitsProcessors& processors) const;
  [[nodiscard]] Result<std::shared_ptr<const LogitsProcessor>> call_processor(
      const Prompt& prompt, const std::string& choice, const ConstrainedText& text) const;
  // Gives calls ids, for templates that need them.
  void add_ids(ChatText& text) const;
  // Appends an answer, or goes on with the last one, and its tokens with their text.
  void take_answer(const ChatText& text, std::span<const TokenId> ids, std::string_view of_ids);

  Pipeline* pipeline_;
  ChatOptions options_;
  std::shared_ptr<const ChatForm> form_;
  // Why calls that the model makes as it likes cannot be constrained; empty where they are, or it
  // is not known yet.
  std::string why_calls_are_free_;
  GenerationConfig config_;
  std::vector<Message> messages_;
  std::size_t left_out_ = 0;
  std::uint64_t drawn_ = 0;  // answers so far
  std::vector<TokenId> tokens_;
  KeptSequence kept_;
};

}  // namespace polystate
