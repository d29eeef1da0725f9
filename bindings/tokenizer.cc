#include "tokenizer.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>             // IWYU pragma: keep (vectors and optionals)
#include <pybind11/stl/filesystem.h>  // IWYU pragma: keep (paths)

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "raise.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

Tokenizer open(const std::filesystem::path& path) {
  Result<Tokenizer> tokenizer = [&] {
    const py::gil_scoped_release release;
    return Tokenizer::open(path);
  }();
  return unwrap(std::move(tokenizer));
}

std::vector<TokenId> encode(const Tokenizer& tokenizer, const std::string& text,
                            bool add_special_tokens) {
  EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
  Result<Encoding> encoding = [&] {
    const py::gil_scoped_release release;
    return tokenizer.encode(text, options);
  }();
  return unwrap(std::move(encoding)).ids;
}

std::vector<std::vector<TokenId>> encode_batch(const Tokenizer& tokenizer,
                                               const std::vector<std::string>& texts,
                                               bool add_special_tokens, std::size_t threads) {
  EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
  options.threads = threads;
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  Result<std::vector<Encoding>> encodings = [&] {
    const py::gil_scoped_release release;
    return tokenizer.encode_batch(views, options);
  }();
  std::vector<std::vector<TokenId>> ids;
  for (Encoding& encoding : unwrap(std::move(encodings))) ids.push_back(std::move(encoding.ids));
  return ids;
}

std::string decode(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                   bool skip_special_tokens) {
  Result<std::string> text = [&] {
    const py::gil_scoped_release release;
    return tokenizer.decode(ids, {skip_special_tokens});
  }();
  return unwrap(std::move(text));
}

}  // namespace

void bind_tokenizer(py::module_& module) {
  py::class_<Tokenizer>(module, "Tokenizer",
                        "Turns text into ids and back, as the library does that its file is from.")
      .def_static("open", &open, py::arg("path"),
                  "Open tokenizer.json, a SentencePiece model or a TikToken file, or a folder that "
                  "has one.")
      .def("encode", &encode, py::arg("text"), py::arg("add_special_tokens") = true)
      .def("encode_batch", &encode_batch, py::arg("texts"), py::arg("add_special_tokens") = true,
           py::arg("threads") = 1)
      .def("decode", &decode, py::arg("ids"), py::arg("skip_special_tokens") = true)
      .def("token_to_id", &Tokenizer::token_to_id, py::arg("token"))
      .def(
          "id_to_token",
          [](const Tokenizer& tokenizer, TokenId id) -> std::optional<py::bytes> {
            const auto token = tokenizer.id_to_token(id);
            if (!token) return std::nullopt;
            return py::bytes(*token);
          },
          py::arg("id"), "The token as bytes: a TikToken file's need not be text.")
      .def_property_readonly("vocabulary_size", &Tokenizer::vocabulary_size)
      .def_property_readonly("warnings", &Tokenizer::warnings);
}

}  // namespace polystate::python
