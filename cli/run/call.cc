#include "cli/run/call.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_status.h"
#include "cli/run/literal.h"
#include "polystate/artifact/manifest.h"
#include "polystate/artifact/npz.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {
namespace {

Error contract_error(std::string message) {
  return Error{ErrorCode::kContract, std::move(message)};
}

// Fills the slots of one call's inputs, each once.
class InputReader {
 public:
  explicit InputReader(const MethodSpec& method)
      : method_(method), tensors_(method.inputs.size()) {}

  Status add(const std::string& input) {
    const std::size_t equals = input.find('=');
    if (equals == std::string::npos) return add_all(input);
    return add_one(input.substr(0, equals), input.substr(equals + 1));
  }

  Result<std::vector<Tensor>> take() && {
    std::vector<Tensor> tensors;
    for (std::optional<Tensor>& tensor : tensors_) {
      if (!tensor.has_value()) {
        const std::size_t index = tensors.size();
        return fault(index, "is missing (--input " + method_.inputs[index].name + "=...)");
      }
      tensors.push_back(*std::move(tensor));
    }
    return tensors;
  }

 private:
  Status add_one(const std::string& name, const std::string& value) {
    Result<std::size_t> index = index_of(name);
    if (!index) return index.error();
    Result<Tensor> tensor = read_value(method_.inputs[*index], value);
    if (!tensor) return fault(*index, tensor.error().message);
    return store(*index, *std::move(tensor));
  }

  // Every entry of an .npz file.
  Status add_all(const std::string& path) {
    Result<std::map<std::string, Tensor>> file = read_npz(path);
    if (!file) return while_reading_input(file.error());
    for (auto& [name, tensor] : *file) {
      Result<std::size_t> index = index_of(name);
      if (!index) return contract_error(path + ": " + index.error().message);
      const Status status = store(*index, std::move(tensor));
      if (!status) return status;
    }
    return {};
  }

  Status store(std::size_t index, Tensor tensor) {
    if (tensors_[index].has_value()) return fault(index, "is given twice");
    tensors_[index] = std::move(tensor);
    return {};
  }

  [[nodiscard]] Result<std::size_t> index_of(const std::string& name) const {
    std::string names;
    for (std::size_t i = 0; i < method_.inputs.size(); ++i) {
      if (method_.inputs[i].name == name) return i;
      names += (i == 0 ? "" : ", ") + method_.inputs[i].name;
    }
    return contract_error("method '" + method_.name + "' has no input '" + name + "'; it takes " +
                          (names.empty() ? "none" : names));
  }

  static Result<Tensor> read_value(const InputSpec& spec, const std::string& value) {
    if (value.ends_with(".npy")) return read_npy(value);
    if (!value.ends_with(".npz")) return parse_literal(value, spec.dtype);
    Result<std::map<std::string, Tensor>> file = read_npz(value);
    if (!file) return file.error();
    const auto entry = file->find(spec.name);
    if (entry == file->end()) return contract_error(value + " has no such entry");
    return std::move(entry->second);
  }

  [[nodiscard]] Error fault(std::size_t input, const std::string& what) const {
    return contract_error(input_label(method_, input) + ": " + what);
  }

  const MethodSpec& method_;
  std::vector<std::optional<Tensor>> tensors_;
};

}  // namespace

std::string input_fault(const std::string& input) {
  const std::size_t equals = input.find('=');
  const bool is_right = equals == std::string::npos ? input.ends_with(".npz") : equals > 0;
  return is_right ? "" : "'" + input + "' is neither NAME=VALUE nor an .npz file";
}

Result<std::vector<Tensor>> read_inputs(const MethodSpec& method, const CallArguments& arguments) {
  InputReader reader(method);
  for (const std::string& input : arguments.inputs) {
    const Status status = reader.add(input);
    if (!status) return status.error();
  }
  return std::move(reader).take();
}

}  // namespace polystate::cli
