#pragma once

// The headers of a program that runs artifacts and tokenizers.

#include "polystate/chat_template/chat_templates.h"  // IWYU pragma: export
#include "polystate/core/dtype.h"                    // IWYU pragma: export
#include "polystate/core/result.h"                   // IWYU pragma: export
#include "polystate/core/shape.h"                    // IWYU pragma: export
#include "polystate/core/tensor.h"                   // IWYU pragma: export
#include "polystate/grammar/grammar_compiler.h"      // IWYU pragma: export
#include "polystate/grammar/response_format.h"       // IWYU pragma: export
#include "polystate/pipeline/artifact_text.h"        // IWYU pragma: export
#include "polystate/pipeline/chat.h"                 // IWYU pragma: export
#include "polystate/pipeline/chat_encoding.h"        // IWYU pragma: export
#include "polystate/pipeline/pipeline.h"             // IWYU pragma: export
#include "polystate/pipeline/stop_strings.h"         // IWYU pragma: export
#include "polystate/report/document.h"               // IWYU pragma: export
#include "polystate/report/render.h"                 // IWYU pragma: export
#include "polystate/response/response_forms.h"       // IWYU pragma: export
#include "polystate/response/response_parser.h"      // IWYU pragma: export
#include "polystate/response/response_template.h"    // IWYU pragma: export
#include "polystate/runner/conversation.h"           // IWYU pragma: export
#include "polystate/runner/open_runner.h"            // IWYU pragma: export
#include "polystate/runner/runner.h"                 // IWYU pragma: export
#include "polystate/session/model.h"                 // IWYU pragma: export
#include "polystate/session/session.h"               // IWYU pragma: export
#include "polystate/tokenizer/tokenizer.h"           // IWYU pragma: export
