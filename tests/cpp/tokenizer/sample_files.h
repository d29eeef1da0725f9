#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// A small tokenizer file of some format.
struct SampleFile {
  std::string name;
  TokenizerFormat format;
  std::string content;
  TokenizerOptions options = {};

  friend std::ostream& operator<<(std::ostream& out, const SampleFile& file) {
    return out << file.name;
  }
};

// One for each model of each format.
std::vector<SampleFile> sample_files();

}  // namespace polystate
