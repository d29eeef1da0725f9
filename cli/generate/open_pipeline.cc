#include "cli/generate/open_pipeline.h"

#include <memory>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/warnings.h"
#include "polystate/core/result.h"
#include "polystate/pipeline/pipeline.h"

namespace polystate::cli {

Result<std::unique_ptr<Pipeline>> open_pipeline(const ModelArguments& arguments, Need need) {
  auto pipeline = Pipeline::open(arguments.artifact.directory, arguments.model_options());
  if (!pipeline) return while_opening(pipeline.error());
  print_warnings((*pipeline)->warnings());
  const bool continues = (*pipeline)->continues_texts();
  if (continues == (need == Need::kContinuesTexts)) return pipeline;
  return Error{ErrorCode::kUnsupported,
               continues
                   ? "the artifact's model has no encoder: polystate complete continues texts"
                   : "the artifact's model has an encoder: polystate translate answers texts"};
}

}  // namespace polystate::cli
