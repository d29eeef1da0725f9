#pragma once

#include <memory>

#include "polystate/core/result.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/loaders/loaders.h"

namespace polystate {

// Whether an error is one that a file or a text may cause, and says what is wrong.
bool is_typed(const Error& error);

// Encodes, decodes and streams with a tokenizer of a file that may be damaged. True where all is as
// promised: errors are typed, offsets lie in the text, and streamed text is the decoded text.
bool keeps_its_promises(const Result<std::shared_ptr<const Tokenizer>>& tokenizer);

// A tokenizer of several files, or why they make none.
Result<std::shared_ptr<const Tokenizer>> open_files(const tokenizer::MarianFiles& files);
Result<std::shared_ptr<const Tokenizer>> open_files(const tokenizer::M2M100Files& files);

}  // namespace polystate
