#include "engine/executorch/data_loader.h"

#include <cstring>

namespace polystate {

using executorch::runtime::FreeableBuffer;

executorch::runtime::Result<FreeableBuffer> FileBytesLoader::load(std::size_t offset,
                                                                  std::size_t size,
                                                                  const SegmentInfo&) const {
  const std::span<const std::byte> bytes = file_->bytes();
  ET_CHECK_OR_RETURN_ERROR(offset <= bytes.size() && size <= bytes.size() - offset, InvalidProgram,
                           "bytes %zu..%zu of a program of %zu bytes", offset, offset + size,
                           bytes.size());
  return FreeableBuffer(bytes.data() + offset, size, nullptr);
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
