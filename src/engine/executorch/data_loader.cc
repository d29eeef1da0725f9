#include "engine/executorch/data_loader.h"

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "polystate/artifact/file_bytes.h"

namespace polystate {
namespace {

using executorch::runtime::FreeableBuffer;

// ExecuTorch is done with a segment, at least until another session loads it again.
// NOLINTNEXTLINE(misc-const-correctness): the signature is ExecuTorch's
void release_segment(void* file, void* data, std::size_t size) {
  const auto& bytes = *static_cast<const FileBytes*>(file);
  bytes.release(static_cast<std::size_t>(static_cast<std::byte*>(data) - bytes.bytes().data()),
                size);
}

}  // namespace

executorch::runtime::Result<FreeableBuffer> FileBytesLoader::load(std::size_t offset,
                                                                  std::size_t size,
                                                                  const SegmentInfo&) const {
  const std::span<const std::byte> bytes = file_->bytes();
  ET_CHECK_OR_RETURN_ERROR(offset <= bytes.size() && size <= bytes.size() - offset, InvalidProgram,
                           "bytes %zu..%zu of a program of %zu bytes", offset, offset + size,
                           bytes.size());
  // The buffer passes the context on as it is; release_segment takes it as const again.
  return FreeableBuffer(bytes.data() + offset, size, &release_segment,
                        const_cast<FileBytes*>(file_.get()));
}

executorch::runtime::Error FileBytesLoader::load_into(std::size_t offset, std::size_t size,
                                                      const SegmentInfo& segment,
                                                      void* buffer) const {
  const auto loaded = load(offset, size, segment);
  if (loaded.ok() && size > 0) {
    std::memcpy(buffer, loaded->data(), size);
  }
  return loaded.error();
}

executorch::runtime::Result<std::size_t> FileBytesLoader::size() const {
  return file_->bytes().size();
}

}  // namespace polystate
