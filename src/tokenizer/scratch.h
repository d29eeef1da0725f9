#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "polystate/tokenizer/encoding.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/word_cache.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"

namespace polystate::tokenizer {

// Buffers of one encoding at work, and what was learnt while encoding.
struct Scratch {
  WordCache cache;
  std::string repaired;                   // the text, where it was malformed
  std::vector<ByteRange> text_alignment;  // of the caller's text
  std::string normalized;
  std::vector<ByteRange> normalized_alignment;
  std::vector<AddedVocabulary::Match> matches;
  std::vector<AddedVocabulary::Match> normalized_matches;
  PreTokenizedText pieces;
  std::vector<Token> tokens;  // of one piece
};

// Scratches that nobody uses now: as many as there were encodings at a time.
class ScratchPool {
 public:
  // Borrows a scratch for as long as it lives.
  class Loan {
   public:
    explicit Loan(ScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_.give_back(std::move(scratch_)); }
    Scratch& operator*() const { return *scratch_; }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

 private:
  std::unique_ptr<Scratch> take();
  void give_back(std::unique_ptr<Scratch> scratch);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace polystate::tokenizer
