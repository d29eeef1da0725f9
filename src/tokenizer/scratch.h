#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
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
  std::vector<TextRange> text_alignment;  // of the caller's text
  std::string normalized;
  std::vector<TextRange> normalized_alignment;
  std::vector<AddedVocabulary::Match> matches;
  std::vector<AddedVocabulary::Match> normalized_matches;
  PreTokenizedText pieces;
  std::vector<Token> tokens;  // of one piece
};

// Scratches that nobody uses now: as many as there were encodings at a time.
class ScratchPool {
 public:
  // Borrows a scratch for as long as it lives. One that served a text of more than kMaxKeptBytes is
  // not kept: its buffers are many times as large.
  class Loan {
   public:
    Loan(ScratchPool& pool, std::size_t text_bytes)
        : pool_(pool), scratch_(pool.take()), is_kept_(text_bytes <= kMaxKeptBytes) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() {
      if (is_kept_) pool_.give_back(std::move(scratch_));
    }
    Scratch& operator*() const { return *scratch_; }

   private:
    static constexpr std::size_t kMaxKeptBytes = std::size_t{4} << 20U;

    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
    bool is_kept_;
  };

 private:
  std::unique_ptr<Scratch> take();
  void give_back(std::unique_ptr<Scratch> scratch);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace polystate::tokenizer
