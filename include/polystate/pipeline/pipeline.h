#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"
#include "polystate/core/token.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/grammar/response_format.h"
#include "polystate/pipeline/text_score.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"
#include "polystate/sampler/stopping_criterion.h"
#include "polystate/session/model.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

struct GeneratedText {
  std::string text;          // of the generated tokens alone, without special ones
  std::vector<TokenId> ids;  // with them, as the runner gives them: from the prompt or start token
  std::optional<float> score = std::nullopt;  // see GeneratedSequence::score
  FinishReason finish_reason = FinishReason::kUnfinished;
  // Of an answer to a conversation, where the model's files say how answers are read: it as a
  // message (see parse_response); else none.
  TemplateValue message = {};
};

struct PipelineOptions : CallOptions {
  // Cut texts that are longer than the model's limit, where they are refused otherwise: a source at
  // its end, a prompt at its beginning.
  bool truncate = false;
  // Give the model the tokens that the tokenizer adds around a text, such as a first one.
  bool add_special_tokens = true;
  // What each answer has to be, by itself: what comes before it in a prompt does not count.
  std::optional<ResponseFormat> response_format = std::nullopt;
  // Of conversations: control tokens that messages spell are text, see encode_chat.
  bool sanitize_control_tokens = true;
  // Leave special tokens out of the answers' text.
  bool skip_special_tokens = true;
  // Called with each piece of text as it is generated, and the number of its input; false ends the
  // generation of that input. Not for beams or several texts for one input (kContract).
  std::function<bool(std::size_t input, std::string_view piece)> on_text = nullptr;
};

// Text in, text out: a tokenizer and a runner over one artifact. Many threads may use it at once:
// their texts run side by side. Functions of a caller are called on its own thread, as a Runner's.
class Pipeline {
 public:
  // What an artifact's manifest says that it is. kUnsupported: the artifact has no runner or no
  // tokenizer; else as Model::open and Tokenizer::open.
  static Result<std::unique_ptr<Pipeline>> open(const std::filesystem::path& directory,
                                                const ModelOptions& options = {});
  static Result<std::unique_ptr<Pipeline>> create(const Model& model);

  virtual ~Pipeline() = default;

  // num_return_sequences texts for each, best first; inputs may be any number and run side by side.
  // kContract names the input that is refused, counted from 0.
  virtual Result<std::vector<std::vector<GeneratedText>>> run(
      std::span<const std::string> texts, const PipelineOptions& options = {}) = 0;

  // The same for texts that are written in the call, one or several: run({"Hello.", "Bye."}).
  Result<std::vector<std::vector<GeneratedText>>> run(std::initializer_list<std::string> texts,
                                                      const PipelineOptions& options = {});

  // The best text for one.
  Result<std::string> run(std::string_view text);

  // The same for conversations of a chat model: what follows each as its template renders it. The
  // text of an answer is what its tokens are decoded to by themselves, as in transformers; with
  // special tokens where the model's files have a `response_template`, by which it is read as a
  // message as well. A part of it that cannot be read is content there.
  // kUnsupported where the model has an encoder; kContract also as ChatTemplates::render.
  virtual Result<std::vector<std::vector<GeneratedText>>> run_chats(
      std::span<const ChatInput> chats, const PipelineOptions& options = {}) = 0;

  // A processor that has a text be what a format asks for. Errors as GrammarCompiler.
  virtual Result<std::shared_ptr<const LogitsProcessor>> constrain(
      const ResponseFormat& format, const ConstrainedText& text,
      const TextMarkers& special = {}) = 0;

  // How probable the model finds each text, of any length. kUnsupported where it has an encoder.
  virtual Result<std::vector<TextScore>> score(std::span<const std::string> texts,
                                               const ScoreOptions& options = {}) = 0;

  // What the manifest says that the artifact is for: "translation", "text-generation", ...
  [[nodiscard]] virtual const std::string& task() const = 0;
  // Whether an answer goes on where its text ends, or is a text of its own: whether the model has
  // no encoder.
  [[nodiscard]] virtual bool continues_texts() const = 0;
  // What it is made of. The templates of a model that is not for chats are none.
  [[nodiscard]] virtual Runner& runner() = 0;
  [[nodiscard]] virtual const std::shared_ptr<const Tokenizer>& tokenizer() const = 0;
  [[nodiscard]] virtual const ChatTemplates& chat_templates() const = 0;
  // The artifact's digest.
  [[nodiscard]] virtual const Sha256& digest() const = 0;

  // What the artifact's generation_config.json says.
  [[nodiscard]] virtual const GenerationConfig& default_config() const = 0;
  // What the artifact's files ask for and gets no effect here, a sentence each.
  [[nodiscard]] virtual const std::vector<std::string>& warnings() const = 0;
};

}  // namespace polystate
