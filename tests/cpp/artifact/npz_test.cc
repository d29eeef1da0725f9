#include "polystate/artifact/npz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "support/test_files.h"
#include "temporary_folder.h"

namespace polystate {
namespace {

using Tensors = std::map<std::string, Tensor>;

// Files that data/make_numpy_files.py made with NumPy.
std::filesystem::path data(const std::string& name) { return test_file("artifact/data") / name; }

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Tensor raw(DType dtype, Shape shape, const std::vector<std::uint16_t>& bits) {
  return Tensor::copy_of(dtype, std::move(shape), std::as_bytes(std::span(bits))).value();
}

// The arrays of make_numpy_files.py.
Tensors expected_arrays() {
  std::vector<float> floats(24);
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i);
  const std::vector<std::uint8_t> bools = {1, 0, 0, 1};
  using Int32 = std::numeric_limits<std::int32_t>;
  return {
      {"bool", Tensor::copy_of(DType::kBool, {2, 2}, std::as_bytes(std::span(bools))).value()},
      {"uint8", Tensor::of<std::uint8_t>({3}, {0, 1, 255}).value()},
      {"int8", Tensor::of<std::int8_t>({3}, {-128, 0, 127}).value()},
      {"int16", Tensor::of<std::int16_t>({2}, {-32768, 32767}).value()},
      {"int32", Tensor::of<std::int32_t>({2, 1}, {Int32::min(), Int32::max()}).value()},
      {"int64", Tensor::of<std::int64_t>({}, {std::numeric_limits<std::int64_t>::min()}).value()},
      {"float16", raw(DType::kFloat16, {2}, {0x3800, 0xC000})},
      {"float32", Tensor::of<float>({2, 3, 4}, floats).value()},
      {"float64", Tensor::of<double>({1}, {std::numbers::pi}).value()},
      {"bits/of_bfloat16", raw(DType::kBFloat16, {2}, {0x3F80, 0xC000})},
      {"empty", Tensor::empty(DType::kFloat32, {3, 0, 2}).value()},
  };
}

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::ranges::equal(a.bytes(), b.bytes());
}

bool same(const Tensors& a, const Tensors& b) {
  return std::ranges::equal(a, b, [](const auto& left, const auto& right) {
    return left.first == right.first && same(left.second, right.second);
  });
}

TEST(Npz, WhatNumPyStoredIsRead) {
  EXPECT_TRUE(same(read_npz(data("stored.npz")).value(), expected_arrays()));
}

TEST(Npz, WhatNumPyCompressedIsRead) {
  EXPECT_TRUE(same(read_npz(data("deflated.npz")).value(), expected_arrays()));
}

TEST(Npz, Zip64RecordsAreRead) {
  const Tensors arrays = read_npz(data("zip64.npz")).value();
  ASSERT_EQ(arrays.size(), 2);
  EXPECT_TRUE(same(arrays.at("int16"), expected_arrays().at("int16")));
  EXPECT_TRUE(same(arrays.at("bool"), expected_arrays().at("bool")));
}

TEST(Npz, TheBytesWrittenAreThoseThatPythonWrites) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_npz(folder / "arrays.npz", expected_arrays()));
  EXPECT_EQ(content_of(folder / "arrays.npz"), content_of(data("reference.npz")));
}

TEST(Npz, WhatIsWrittenIsReadAgain) {
  const TemporaryFolder folder;
  Tensors arrays = expected_arrays();
  arrays.emplace("état", Tensor::of<float>({1}, {3}).value());
  ASSERT_TRUE(write_npz(folder / "arrays.npz", arrays));
  EXPECT_TRUE(same(read_npz(folder / "arrays.npz").value(), arrays));
  ASSERT_TRUE(write_npz(folder / "none.npz", {}));
  EXPECT_TRUE(read_npz(folder / "none.npz").value().empty());
}

TEST(Npz, FilesThatCannotBeOpenedAreErrorsOfInputAndOutput) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_npz(folder / "missing.npz").error().code, ErrorCode::kIo);
  EXPECT_EQ(read_npy(folder / "missing.npy").error().code, ErrorCode::kIo);
  EXPECT_EQ(write_npz(folder / "missing/a.npz", {}).error().code, ErrorCode::kIo);
}

TEST(Npz, AnErrorNamesTheFile) {
  const Result<Tensors> arrays = read_npz(data("reference.npy"));
  ASSERT_FALSE(arrays);
  EXPECT_EQ(arrays.error().code, ErrorCode::kContract);
  EXPECT_EQ(arrays.error().message,
            "'" + data("reference.npy").string() + "': damaged zip file: its end is missing");
}

// Dates and attributes may differ without harm; whatever else changes must be noticed.
void expect_refused_or_unharmed(const Tensors& whole, const std::string& damaged,
                                const std::string& how) {
  const Result<Tensors> arrays = parse_npz(bytes_of(damaged));
  if (!arrays) {
    EXPECT_EQ(arrays.error().code, ErrorCode::kContract) << how;
  } else {
    EXPECT_TRUE(same(*arrays, whole)) << how;
  }
}

TEST(Npz, AChangedByteIsRefusedOrChangesNothing) {
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz", "reference.npz"}) {
    const std::string file = content_of(data(name));
    const Result<Tensors> whole = parse_npz(bytes_of(file));
    ASSERT_TRUE(whole) << whole.error().message;
    for (std::size_t i = 0; i < file.size(); ++i) {
      for (const char value : {'\0', '\1', '\x7f', '\xff',
                               static_cast<char>(static_cast<unsigned char>(file[i]) ^ 8U)}) {
        std::string damaged = file;
        damaged[i] = value;
        expect_refused_or_unharmed(*whole, damaged,
                                   std::string(name) + ", byte " + std::to_string(i));
      }
    }
  }
}

TEST(Npz, EveryTruncationIsRefused) {
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    const std::string file = content_of(data(name));
    for (std::size_t size = 0; size < file.size(); ++size) {
      EXPECT_FALSE(parse_npz(bytes_of(file.substr(0, size)))) << name << " cut to " << size;
    }
  }
}

// reference.npz with every occurrence of `before` replaced by as many bytes.
std::string message_after(std::string_view before, std::string_view after) {
  std::string file = content_of(data("reference.npz"));
  for (std::size_t at = file.find(before); at != std::string::npos;
       at = file.find(before, at + before.size())) {
    file.replace(at, before.size(), after);
  }
  const Result<Tensors> arrays = parse_npz(bytes_of(file));
  return arrays ? "(no error)" : arrays.error().message;
}

TEST(Npz, NamesMustBeOfArraysEachOnce) {
  EXPECT_EQ(message_after("uint8.npy", "uint8.txt"),
            "\"uint8.txt\" is not an array: its name does not end in .npy");
  EXPECT_EQ(message_after("int16.npy", "int32.npy"),
            "damaged zip file: \"int32.npy\": the name occurs twice");
  EXPECT_EQ(message_after("uint8.npy", "u\nnt8.npy"),
            "damaged zip file: \"u?nt8.npy\": its name has control characters");
  EXPECT_EQ(message_after("uint8.npy", "u\xffnt8.npy"),
            "damaged zip file: \"u?nt8.npy\": its name is not UTF-8");
}

TEST(Npz, PathsInNamesAreOnlyKeys) {
  const TemporaryFolder folder;
  const Tensors arrays = {{"../../escaped", Tensor::of<float>({1}, {1}).value()}};
  ASSERT_TRUE(write_npz(folder / "arrays.npz", arrays));
  EXPECT_TRUE(read_npz(folder / "arrays.npz").value().contains("../../escaped"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

// Little-endian numbers, to make archives by hand.
std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value /= 256) text += static_cast<char>(value % 256);
  return text;
}

// An archive of one deflated entry 'a.npy', whose directory says `size`.
std::string archive_with(const std::string& packed, std::uint64_t size, std::uint32_t crc) {
  const std::string common = number(20, 2) + number(0, 2) + number(8, 2) + number(0, 4) +
                             number(crc, 4) + number(packed.size(), 4) + number(size, 4) +
                             number(5, 2) + number(0, 2);
  const std::string local = number(0x04034b50, 4) + common + "a.npy" + packed;
  const std::string central =
      number(0x02014b50, 4) + number(20, 2) + common + number(0, 14) + "a.npy";
  return local + central + number(0x06054b50, 4) + number(0, 4) + number(1, 2) + number(1, 2) +
         number(central.size(), 4) + number(local.size(), 4) + number(0, 2);
}

TEST(Npz, ASizeThatNothingCouldInflateToIsRefusedBeforeMemoryIsTaken) {
  const Result<Tensors> arrays =
      parse_npz(bytes_of(archive_with(std::string(100, 'x'), 4000000000, 0)));
  ASSERT_FALSE(arrays);
  EXPECT_EQ(arrays.error().message,
            "damaged zip file: \"a.npy\": 100 bytes cannot inflate to 4000000000");
}

TEST(Npz, DataThatDoesNotInflateIsRefused) {
  const Result<Tensors> arrays = parse_npz(bytes_of(archive_with(std::string(100, 'x'), 1000, 0)));
  ASSERT_FALSE(arrays);
  EXPECT_EQ(arrays.error().message,
            "damaged zip file: \"a.npy\": its data does not inflate to 1000 bytes");
}

TEST(Npz, ATensorOfTooManyDimensionsIsNotWritten) {
  const TemporaryFolder folder;
  const Tensor tensor = Tensor::of<float>(Shape(65, 1), {1}).value();
  const std::string message = "a tensor of 65 dimensions cannot be a NumPy array; the limit is 64";
  EXPECT_EQ(write_npz(folder / "a.npz", {{"a", tensor}}).error().message, message);
  EXPECT_EQ(write_npy(folder / "a.npy", tensor).error().message, message);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Npz, AnArchiveOfMoreThanItsFormatHoldsIsNotWritten) {
  const TemporaryFolder folder;
  // Memory that is never touched: the sizes alone decide.
  const std::byte nothing{};
  const Tensor tensor = Tensor::borrow_read_only(DType::kUInt8, {4294967295}, &nothing).value();
  const Status status = write_npz(folder / "a.npz", {{"a", tensor}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kContract);
  EXPECT_EQ(status.error().message,
            "a zip file cannot hold \"a.npy\" of 4294967423 bytes: together with the arrays before "
            "it, 4 GiB is the limit");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// .npy

TEST(Npy, TheBytesWrittenAreThoseThatNumPyWrites) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_npy(folder / "a.npy", expected_arrays().at("float32")));
  EXPECT_EQ(content_of(folder / "a.npy"), content_of(data("reference.npy")));
}

TEST(Npy, EveryVersionIsRead) {
  EXPECT_TRUE(same(read_npy(data("reference.npy")).value(), expected_arrays().at("float32")));
  EXPECT_TRUE(same(read_npy(data("version_2.npy")).value(), expected_arrays().at("int16")));
  EXPECT_TRUE(same(read_npy(data("version_3.npy")).value(), expected_arrays().at("int16")));
}

TEST(Npy, EveryTensorIsReadAgain) {
  const TemporaryFolder folder;
  for (const auto& [name, tensor] : expected_arrays()) {
    ASSERT_TRUE(write_npy(folder / "a.npy", tensor)) << name;
    EXPECT_TRUE(same(read_npy(folder / "a.npy").value(), tensor)) << name;
  }
}

TEST(Npy, ComplexNumbersAreReadAndWrittenAsNumPyDoes) {
  const Tensor tensor = read_npy(data("complex.npy")).value();
  ASSERT_EQ(tensor.dtype(), DType::kComplex128);
  ASSERT_EQ(tensor.shape(), Shape({1}));
  EXPECT_EQ(tensor.values<std::complex<double>>()[0], std::complex<double>(0, 1));
  const TemporaryFolder folder;
  ASSERT_TRUE(write_npy(folder / "a.npy", tensor));
  EXPECT_EQ(content_of(folder / "a.npy"), content_of(data("complex.npy")));
}

std::string reason(const std::string& name) {
  const Result<Tensor> tensor = read_npy(data(name));
  if (tensor) return "(no error)";
  EXPECT_EQ(tensor.error().code, ErrorCode::kContract);
  return tensor.error().message.substr(data(name).string().size() + 4);  // after 'path':
}

TEST(Npy, WhatNoTensorCanHoldIsRefused) {
  EXPECT_EQ(reason("fortran.npy"),
            "the array is in Fortran order; numpy.ascontiguousarray makes a copy in C order");
  EXPECT_EQ(reason("big_endian.npy"), "the array is big-endian (\">i2\")");
  EXPECT_EQ(reason("objects.npy"), "the array's dtype \"|O\" has no counterpart here");
  EXPECT_TRUE(reason("structured.npy")
                  .ends_with("not a dictionary of a plain dtype, an order and a shape"));
}

// A .npy file with this header, padded as NumPy pads, and `data`.
std::string npy_with(std::string header, const std::string& data) {
  header.resize((header.size() + 10) / 64 * 64 + 53, ' ');
  header += '\n';
  return "\x93NUMPY" + number(1, 2) + number(header.size(), 2) + header + data;
}

std::string parse_error(const std::string& file) {
  const Result<Tensor> tensor = parse_npy(bytes_of(file));
  return tensor ? "(no error)" : tensor.error().message;
}

std::string header(const std::string& shape) {
  return "{'descr': '<i2', 'fortran_order': False, 'shape': " + shape + ", }";
}

TEST(Npy, ATupleIsAShape) {
  for (const char* shape : {"()", "(1,)", "(1, 1)", "(1, 1,)"}) {
    EXPECT_EQ(parse_error(npy_with(header(shape), "ab")), "(no error)") << shape;
  }
}

TEST(Npy, WhatIsNoTupleIsNoShape) {
  for (const char* shape :
       {"1", "(1)", "(,)", "(1 1)", "(1,,)", "(1", "(1.0,)", "(a,)", "(99999999999999999999,)"}) {
    EXPECT_TRUE(
        parse_error(npy_with(header(shape), "ab")).starts_with("not a .npy file: its header is "))
        << shape;
  }
}

TEST(Npy, KeysMayComeInAnyOrderButMustBeThoseThree) {
  const std::string rest = "'fortran_order': False, 'shape': (1,)";
  EXPECT_EQ(parse_error(npy_with("{" + rest + ", 'descr': '<i2'}", "ab")), "(no error)");
  for (const std::string& text :
       {"{" + rest + "}", "{" + rest + ", 'descr': '<i2', 'descr': '<i2'}",
        "{" + rest + ", 'descr': '<i2', 'more': 1}", "{" + rest + ", 'descr': '<i2'} x",
        "{" + rest + " 'descr': '<i2'}", rest + ", 'descr': '<i2'"}) {
    EXPECT_TRUE(parse_error(npy_with(text, "ab")).starts_with("not a .npy file: its header is "))
        << text;
  }
}

TEST(Npy, TheDataMustBeThatOfTheShape) {
  EXPECT_EQ(parse_error(npy_with(header("(2,)"), "abc")),
            "the file has 3 bytes of elements, not those of a int16 array of shape [2]");
  EXPECT_EQ(parse_error(npy_with(header("(2,)"), "abcde")),
            "the file has 5 bytes of elements, not those of a int16 array of shape [2]");
  EXPECT_EQ(parse_error(npy_with(header("(-1,)"), "")),
            "the file has 0 bytes of elements, not those of a int16 array of shape [-1]");
  EXPECT_EQ(parse_error(npy_with(header("(4611686018427387904, 4)"), "")),
            "the file has 0 bytes of elements, not those of a int16 array of shape "
            "[4611686018427387904, 4]");
}

TEST(Npy, ABoolIsZeroOrOne) {
  const std::string bools = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(parse_error(npy_with(bools, std::string("\0\1", 2))), "(no error)");
  EXPECT_EQ(parse_error(npy_with(bools, "\1\2")), "a bool of the array is neither 0 nor 1");
}

TEST(Npy, EveryTruncationIsRefused) {
  const std::string file = content_of(data("reference.npy"));
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(parse_npy(bytes_of(file.substr(0, size)))) << size;
  }
}

TEST(Npy, UnknownVersionsAreRefused) {
  std::string file = content_of(data("reference.npy"));
  file[6] = 4;
  EXPECT_EQ(parse_error(file), ".npy version 4 is not one of 1, 2 and 3");
}

}  // namespace
}  // namespace polystate
