#include "pipeline/chat_file.h"

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "core/saved_file.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {
namespace {

constexpr SavedFileKind kConversation{
    "saved conversation", {'p', 'o', 'l', 'y', 'c', 'h', 'a', 't'}, /*version=*/1};

}  // namespace

Status write_chat_file(const std::filesystem::path& path, const Sha256& model,
                       const ChatFile& content) {
  const std::array document = {std::as_bytes(std::span(content.document))};
  const std::array state = {std::as_bytes(std::span(content.state))};
  return write_saved_file(path, kConversation, model, {document, state});
}

Result<ChatFile> read_chat_file(const std::filesystem::path& path, const Sha256& model) {
  Result<std::vector<std::vector<std::byte>>> read = read_saved_file(path, kConversation, model, 2);
  if (!read) return read.error();
  const std::vector<std::byte>& document = read->front();
  return ChatFile{{reinterpret_cast<const char*>(document.data()), document.size()},
                  std::move(read->back())};
}

}  // namespace polystate
