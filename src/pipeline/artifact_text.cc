#include "polystate/pipeline/artifact_text.h"

#include <memory>

#include "artifact/artifact_files.h"
#include "polystate/artifact/artifact.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

Result<std::shared_ptr<const Tokenizer>> tokenizer_of(const Artifact& artifact,
                                                      const TokenizerOptions& options) {
  return Tokenizer::open(ArtifactFiles(artifact), options);
}

Result<ChatTemplates> chat_templates_of(const Artifact& artifact) {
  return ChatTemplates::open(ArtifactFiles(artifact));
}

}  // namespace polystate
