#pragma once

#include <filesystem>

// Where the files of tests lie. One small source alone knows it, so that a compiler's cache has all
// others for every clone.
namespace polystate {

// What tests/fixtures/export.py made, by its name: "counter" is an artifact.
[[nodiscard]] std::filesystem::path fixture(const std::filesystem::path& name);

// A file beside the sources of tests, by its path from tests/cpp.
[[nodiscard]] std::filesystem::path test_file(const std::filesystem::path& path);

}  // namespace polystate
