#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/vocabulary.h"

// Readers of the two large parts of a tokenizer.json.
namespace polystate::tokenizer {

// Reads model.vocab: {"token": id, ...} or [["token", score], ...].
class VocabularySink : public JsonSink {
 public:
  bool key(const std::string& key) override;
  bool string(const std::string& value) override;
  bool number(double value) override;
  bool begin_array() override;
  bool end_array() override;
  [[nodiscard]] std::string problem() const override;

  Vocabulary take_vocabulary() { return std::move(vocabulary_); }
  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  // Of the second form, by id.
  [[nodiscard]] const std::vector<double>& scores() const { return scores_; }

 private:
  bool add(TokenId id);

  std::string token_;
  bool has_token_ = false;  // `token_` waits for its number
  bool in_pair_ = false;
  Vocabulary vocabulary_;
  std::vector<double> scores_;
};

// Reads model.merges: ["a b", ...] or [["a", "b"], ...].
class MergesSink : public JsonSink {
 public:
  bool key(const std::string&) override { return false; }
  bool number(double) override { return false; }
  bool string(const std::string& value) override;
  bool begin_array() override;
  bool end_array() override;
  void start() override { is_there_ = true; }
  [[nodiscard]] std::string problem() const override;

  // Whether there were merges to read, be they none.
  [[nodiscard]] bool is_there() const { return is_there_; }
  [[nodiscard]] std::size_t size() const { return ends_.size() / 2; }
  [[nodiscard]] std::string_view left(std::size_t i) const { return part(2 * i); }
  [[nodiscard]] std::string_view right(std::size_t i) const { return part(2 * i + 1); }

 private:
  void put(std::string_view part);
  [[nodiscard]] std::string_view part(std::size_t i) const;

  std::string bytes_;              // of all parts
  std::vector<std::size_t> ends_;  // of each part
  bool is_there_ = false;
  bool in_pair_ = false;
  int parts_in_pair_ = 0;
};

struct ModelSinks {
  VocabularySink vocabulary;
  MergesSink merges;
};

}  // namespace polystate::tokenizer
