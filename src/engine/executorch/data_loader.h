#pragma once

#include <executorch/runtime/core/data_loader.h>

#include <memory>

#include "polystate/artifact/artifact.h"

namespace polystate {

// Shows ExecuTorch the verified bytes of a program, without a copy.
class FileBytesLoader final : public executorch::runtime::DataLoader {
 public:
  explicit FileBytesLoader(std::shared_ptr<const FileBytes> file) : file_(std::move(file)) {}

  executorch::runtime::Result<executorch::runtime::FreeableBuffer> load(
      std::size_t offset, std::size_t size, const SegmentInfo& segment) const override;
  executorch::runtime::Error load_into(std::size_t offset, std::size_t size,
                                       const SegmentInfo& segment, void* buffer) const override;
  executorch::runtime::Result<std::size_t> size() const override;

 private:
  std::shared_ptr<const FileBytes> file_;
};

}  // namespace polystate
