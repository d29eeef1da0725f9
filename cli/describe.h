#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "polystate/artifact/manifest.h"

namespace polystate::cli {

// The manifest's parts as people write them. Names come out as they stand in the file: not yet
// printable().

// "batch 1..10", "length 1.." where nothing bounds it.
std::string symbol_text(const Symbol& symbol);

// "float32 [batch 1..10, length 1..20]". `shape[d]` holds the size of dimension d as an expression.
// A symbol that has its value from dimension d of input `index` shows its range there: "2 * batch
// (batch 1..10)" where the size is more than the symbol.
std::string input_type_text(const MethodSpec& method, std::size_t index);

// "float32 [batch, ?]": ? where only the run decides.
std::string output_type_text(const MethodSpec& method, std::size_t index);

// "0 .. length - 1: indexes dimension 1 of 'cache'"; a side without a limit is left out.
std::string value_range_text(const ValueRange& range, std::span<const std::string> symbols);

// "executorch 1.5.1, torch 2.13.0".
std::string versions_text(const std::map<std::string, std::string>& versions);

// "in place: nothing reads the old value later".
std::string update_text(const StateWrite& write);

// The name of an update in the manifest: "in_place", "written_back".
std::string update_name(StateUpdate update);

// "a, b", or "none".
std::string listed(const std::vector<std::string>& parts);

// "true", "64", "0.5", "\"text\"".
std::string constant_text(const Constant& constant);

// Bytes of one state.
std::uint64_t bytes_of(const StateSpec& state);

}  // namespace polystate::cli
