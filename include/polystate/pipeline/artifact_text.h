#pragma once

#include <memory>

#include "polystate/artifact/artifact.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// What an artifact has for texts, of the files that it lists, which are verified as it was opened.
// Other files of its directory are not read; Tokenizer::open and ChatTemplates::open of a folder
// would find them there.

// Errors as Tokenizer::open and Artifact::read; kIo: the artifact lists no tokenizer.
Result<std::shared_ptr<const Tokenizer>> tokenizer_of(const Artifact& artifact,
                                                      const TokenizerOptions& options = {});

// Errors as ChatTemplates::open and Artifact::read. There may be none.
Result<ChatTemplates> chat_templates_of(const Artifact& artifact);

}  // namespace polystate
