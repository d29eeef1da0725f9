#include "tokenizer.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/pipeline/artifact_text.h"
#include "polystate/session/model.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"
#include "raise.h"
#include "text.h"
#include "without_gil.h"

namespace polystate::python {
namespace {

namespace py = pybind11;

TokenizerBinding open(const std::filesystem::path& path, const std::optional<std::string>& pattern,
                      const std::map<std::string, TokenId>& special_tokens, bool target_language) {
  TokenizerOptions options;
  if (pattern) options.tik_token = TikTokenOptions{*pattern, special_tokens};
  options.target_language = target_language;
  return {unwrap(without_gil([&] { return Tokenizer::open(path, options); }))};
}

TokenizerBinding of_model(const Model& model) {
  return {unwrap(without_gil([&] { return tokenizer_of(model.artifact()); }))};
}

// Texts in UTF-8 where Python has them, which are kept alive.
class Texts {
 public:
  std::string_view add(py::handle text) {
    if (!PyUnicode_Check(text.ptr())) {
      raise({ErrorCode::kContract,
             "a text is a str, not a " +
                 py::str(py::type::of(text).attr("__name__")).cast<std::string>()});
    }
    const std::string_view bytes = utf8_of(text);
    owners_.push_back(py::reinterpret_borrow<py::object>(text));
    return bytes;
  }

  EncodeInput input(py::handle text, py::handle pair) {
    const std::string_view first = add(text);
    return pair.is_none() ? EncodeInput(first) : EncodeInput(first, add(pair));
  }

 private:
  std::vector<py::object> owners_;
};

Encoding encode(const TokenizerBinding& self, py::handle text, py::handle pair,
                const EncodeOptions& options) {
  Texts texts;
  const EncodeInput input = texts.input(text, pair);
  return unwrap(without_gil([&] { return self.tokenizer->encode(input, options); }));
}

// `pairs` is None, or as long as `batch`.
std::vector<Encoding> encode_batch(const TokenizerBinding& self, const py::list& batch,
                                   const py::object& pairs, const EncodeOptions& options) {
  Texts texts;
  std::vector<EncodeInput> inputs;
  inputs.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    inputs.push_back(
        texts.input(batch[i], pairs.is_none() ? py::none() : py::object(pairs[py::int_(i)])));
  }
  return unwrap(without_gil([&] { return self.tokenizer->encode_batch(inputs, options); }));
}

TokenId to_id(py::handle id) {
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(id.ptr()));
  const std::uint64_t value = index ? PyLong_AsUnsignedLongLong(index.ptr()) : 0;
  if (PyErr_Occurred() != nullptr || value > std::numeric_limits<TokenId>::max()) {
    PyErr_Clear();
    raise({ErrorCode::kContract, py::repr(id).cast<std::string>() + " is no id of a token"});
  }
  return static_cast<TokenId>(value);
}

std::vector<TokenId> to_ids(py::handle ids) {
  if (!py::isinstance<py::iterable>(ids)) return {to_id(ids)};
  std::vector<TokenId> values;
  for (const py::handle id : ids) values.push_back(to_id(id));
  return values;
}

std::string decode(const TokenizerBinding& self, py::handle ids, bool skip_special_tokens) {
  const std::vector<TokenId> values = to_ids(ids);
  return unwrap(without_gil([&] { return self.tokenizer->decode(values, {skip_special_tokens}); }));
}

// The token as a str, or as bytes where it is no UTF-8.
py::object id_to_token(const TokenizerBinding& self, py::handle id) {
  const std::optional<std::string> token = self.tokenizer->id_to_token(to_id(id));
  if (!token) return py::none();
  PyObject* const text =
      PyUnicode_DecodeUTF8(token->data(), static_cast<Py_ssize_t>(token->size()), nullptr);
  if (text != nullptr) return py::reinterpret_steal<py::object>(text);
  PyErr_Clear();
  return py::bytes(*token);
}

py::list offsets(const Encoding& encoding) {
  py::list ranges;
  for (const TextRange& range : encoding.offsets)
    ranges.append(py::make_tuple(range.begin, range.end));
  return ranges;
}

}  // namespace

void bind_tokenizer(py::module_& module) {
  py::class_<EncodeOptions>(module, "EncodeOptions")
      .def(py::init([](bool add_special_tokens, const std::string& special_tokens, bool truncate,
                       bool pad, bool offsets, std::size_t threads) {
        EncodeOptions options;
        options.add_special_tokens = add_special_tokens;
        options.special_tokens = unwrap(special_token_policy(special_tokens));
        options.truncate = truncate;
        options.pad = pad;
        options.offsets = offsets;
        options.offset_unit = OffsetUnit::kCodePoint;
        options.threads = threads;
        return options;
      }));
  py::class_<Encoding>(module, "Encoding")
      .def_readonly("ids", &Encoding::ids)
      .def_property_readonly("offsets", &offsets)
      .def_readonly("type_ids", &Encoding::type_ids)
      .def_readonly("special_tokens_mask", &Encoding::special_tokens_mask)
      .def_readonly("attention_mask", &Encoding::attention_mask)
      .def_readonly("overflowing", &Encoding::overflowing);
  py::class_<DecodeStream>(module, "DecodeStream")
      .def("push",
           [](DecodeStream& stream, py::handle id) { return unwrap(stream.push(to_id(id))); })
      .def("finish", [](DecodeStream& stream) { return unwrap(stream.finish()); });
  py::class_<TokenizerBinding>(module, "Tokenizer")
      .def("encode", &encode)
      .def("encode_batch", &encode_batch)
      .def("decode", &decode)
      .def("decode_stream",
           [](const TokenizerBinding& self, bool skip_special_tokens) {
             return self.tokenizer->decode_stream({skip_special_tokens});
           })
      .def("token_to_id",
           [](const TokenizerBinding& self, py::handle token) {
             return self.tokenizer->token_to_id(to_utf8(token));
           })
      .def("id_to_token", &id_to_token)
      .def("is_special", [](const TokenizerBinding& self,
                            py::handle id) { return self.tokenizer->is_special(to_id(id)); })
      .def_property_readonly(
          "vocabulary_size",
          [](const TokenizerBinding& self) { return self.tokenizer->vocabulary_size(); })
      .def_property_readonly(
          "warnings", [](const TokenizerBinding& self) { return self.tokenizer->warnings(); });
  module.def("open_tokenizer", &open);
  module.def("model_tokenizer", &of_model);
}

}  // namespace polystate::python
