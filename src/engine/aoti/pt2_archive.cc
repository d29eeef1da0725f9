#include "engine/aoti/pt2_archive.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact/method_reader.h"
#include "artifact/zip_reader.h"
#include "core/json.h"
#include "core/json_cursor.h"
#include "engine/aoti/processor.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

constexpr std::size_t kMaxConstants = 65536;  // of one method
constexpr std::size_t kMaxFeatures = 256;

// The entries by name; each is checked when it is read.
class Entries {
 public:
  static Result<Entries> list(std::span<const std::byte> file) {
    Result<std::vector<ZipEntry>> listed = list_zip(file);
    if (!listed) return Error{ErrorCode::kArtifact, listed.error().message};
    Entries entries(file);
    for (ZipEntry& entry : *listed) {
      // Stored as they are, so that no entry is larger than the file.
      if (entry.deflated) {
        return Error{ErrorCode::kArtifact, "its entry '" + entry.name + "' is compressed"};
      }
      std::string name = entry.name;
      entries.entries_.emplace(std::move(name), std::move(entry));
    }
    return entries;
  }

  [[nodiscard]] bool has(const std::string& name) const {
    return entries_.contains("archive/data/" + name);
  }
  // The bytes of archive/data/`name`.
  [[nodiscard]] Result<Tensor> read(const std::string& name) const {
    const auto entry = entries_.find("archive/data/" + name);
    if (entry == entries_.end()) {
      return Error{ErrorCode::kArtifact, "it has no entry 'archive/data/" + name + "'"};
    }
    Result<Tensor> bytes = read_zip_entry(file_, entry->second);
    if (!bytes) return Error{ErrorCode::kArtifact, bytes.error().message};
    return bytes;
  }

 private:
  explicit Entries(std::span<const std::byte> file) : file_(file) {}

  std::span<const std::byte> file_;
  std::map<std::string, ZipEntry> entries_;
};

Result<Json> read_json(const Entries& entries, const std::string& name) {
  const Result<Tensor> text = entries.read(name);
  if (!text) return text.error();
  Result<Json> document =
      parse_json({reinterpret_cast<const char*>(text->bytes().data()), text->bytes().size()});
  if (!document) return Error{document.error().code, name + ": " + document.error().message};
  return document;
}

Result<ProcessorNeeds> read_processor(const Entries& entries) {
  const std::string name = "processor.json";
  const Result<Json> document = read_json(entries, name);
  if (!document) return document.error();
  Status status;
  const JsonCursor root(*document, status, name);
  root.expect_keys({"machine", "features"});
  ProcessorNeeds needs{.machine = root["machine"].text(), .features = {}};
  for (const JsonCursor& feature : root["features"].elements(kMaxFeatures)) {
    needs.features.push_back(feature.text());
  }
  if (!status) return status.error();
  return needs;
}

Shape read_shape(const JsonCursor& at) {
  Shape shape;
  for (const JsonCursor& size : at.elements(Manifest::kMaxRank)) {
    shape.push_back(size.integer(0));
  }
  return shape;
}

// Bytes as a tensor, where they lie: an archive of PyTorch's is aligned, one that was packed again
// may not be.
Result<Tensor> as_tensor(DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
  const std::optional<std::size_t> count = element_count(dtype, shape);
  if (!count || *count * size_of(dtype) != bytes.size()) {
    return Error{ErrorCode::kArtifact, "a weight has " + std::to_string(bytes.size()) +
                                           " bytes, not those of " + to_string(shape) +
                                           " elements of " + std::string(name_of(dtype))};
  }
  const Result<Tensor> tensor = Tensor::borrow_read_only(dtype, shape, bytes.data());
  return tensor ? tensor : Tensor::copy_of(dtype, shape, bytes);
}

Result<Tensor> read_constant(const JsonCursor& at, const Entries& entries, const Status& status) {
  at.expect_keys({"file", "dtype", "shape"});
  const DType dtype = read_dtype(at["dtype"]);
  const Shape shape = read_shape(at["shape"]);
  const std::string file = at["file"].file_name();
  if (!status) return status.error();
  const Result<Tensor> bytes = entries.read("weights/" + file);
  return bytes ? as_tensor(dtype, shape, bytes->bytes()) : bytes;
}

Result<std::map<std::string, Tensor>> read_constants(const std::string& method,
                                                     const Entries& entries) {
  const std::string name = "aotinductor/" + method + "/weights.json";
  const Result<Json> document = read_json(entries, name);
  if (!document) return document.error();
  Status status;
  const JsonCursor root(*document, status, name);
  std::map<std::string, Tensor> constants;
  for (const auto& [key, at] : root.fields(kMaxConstants)) {
    Result<Tensor> constant = read_constant(at, entries, status);
    if (!constant) at.fail(constant.error());
    if (!status) return status.error();
    constants.emplace(key, *std::move(constant));
  }
  if (!status) return status.error();
  return constants;
}

Result<PackedMethod> read_method(const std::string& method, const Entries& entries) {
  Result<Tensor> library = entries.read("aotinductor/" + method + "/method.so");
  if (!library) return library.error();
  auto constants = read_constants(method, entries);
  if (!constants) return constants.error();
  return PackedMethod{*std::move(library), *std::move(constants)};
}

}  // namespace

Result<Pt2Archive> Pt2Archive::read(std::span<const std::byte> file, const Manifest& manifest) {
  const Result<Entries> entries = Entries::list(file);
  if (!entries) return entries.error();
  Pt2Archive archive;
  Result<ProcessorNeeds> processor = read_processor(*entries);
  if (!processor) return processor.error();
  archive.processor = *std::move(processor);
  archive.tells_kernels = entries->has("profile.json");
  for (const MethodSpec& method : manifest.methods) {
    Result<PackedMethod> packed = read_method(method.name, *entries);
    if (!packed) return packed.error();
    archive.methods.push_back(*std::move(packed));
  }
  for (std::size_t i = 0; i < manifest.state.size(); ++i) {
    const StateSpec& state = manifest.state[i];
    if (state.zeros) continue;
    Result<Tensor> initial = entries->read("state/state_" + std::to_string(i));
    if (!initial) return initial.error();
    const std::size_t bytes =
        element_count(state.dtype, state.shape).value_or(0) * size_of(state.dtype);
    if (initial->byte_count() != bytes) {
      return Error{ErrorCode::kArtifact, "state '" + state.name + "' has " +
                                             std::to_string(initial->byte_count()) +
                                             " initial bytes, not " + std::to_string(bytes)};
    }
    archive.initial.push_back(*std::move(initial));
  }
  return archive;
}

}  // namespace polystate
