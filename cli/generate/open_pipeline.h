#pragma once

#include <cstdint>
#include <memory>

#include "cli/command.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"

namespace polystate::cli {

// What a command needs of an artifact.
enum class Need : std::uint8_t {
  kContinuesTexts,  // a model without an encoder
  kAnswersTexts,    // a model with one
};

// Opens the pipeline of an artifact, and prints its warnings. kUnsupported where the model is not
// what is needed, with the command that it is for.
Result<std::unique_ptr<Pipeline>> open_pipeline(const ModelArguments& arguments, Need need);

}  // namespace polystate::cli
