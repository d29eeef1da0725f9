#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/loaders/loaders.h"

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

// Marian's files, with the SentencePiece model of that name for both languages.
tokenizer::MarianFiles sample_marian_files(std::string_view model);
tokenizer::M2M100Files sample_m2m100_files();

// A tokenizer of the file of that name, which must be there and open.
std::shared_ptr<const Tokenizer> open_sample(std::string_view name);

}  // namespace polystate
