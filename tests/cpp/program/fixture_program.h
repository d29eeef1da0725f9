#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "support/test_files.h"

namespace polystate::program {

// The program of an exported artifact, with its bytes.
class FixtureProgram {
 public:
  explicit FixtureProgram(const std::string& name) {
    std::ifstream file(fixture(name) / "model.pte", std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    EXPECT_FALSE(bytes_.empty()) << name;
    program_ = read_program(bytes()).value();
  }

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(bytes_));
  }
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Method& method(std::string_view name) const {
    return program_.methods[find_method(program_, name).value()];
  }

 private:
  std::vector<char> bytes_;
  Program program_;
};

}  // namespace polystate::program
