#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/json_cursor.h"
#include "tokenizer/loaders/model_sinks.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/merge_table.h"
#include "tokenizer/models/model.h"

// The "model" of a tokenizer.json. It is read in two steps, because how byte pair encoding is done
// depends on the pre-tokenizer, which depends on the model.
namespace polystate::tokenizer {

// Whether no merge joins something that ends with the marker to something that does not start with
// it, or the other way round.
struct MarkerBoundaries {
  bool before = true;  // pieces may be cut before markers
  bool after = true;
};

// What is known of a model while the other parts are read.
struct ModelRead {
  std::string type;
  bool bytes_suit = false;  // byte pair encoding over the whole byte alphabet
  MarkerBoundaries boundaries{false, false};
  MergeTable merges;
  BpeOptions bpe;
};

// Reads the type and, for byte pair encoding, everything else. Errors are stored where the cursor
// stores them.
ModelRead read_model(const JsonCursor& json, const ModelSinks& sinks,
                     std::vector<std::string>& warnings);

// The model; nothing of use after an error.
std::unique_ptr<const Model> make_model(const JsonCursor& json, ModelRead read, ModelSinks& sinks);

}  // namespace polystate::tokenizer
