#include "runner/fake_token_manifest.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "polystate/artifact/manifest.h"
#include "runner/cache/cache_kind.h"
#include "runner/fake_token_model.h"
#include "support/fake_manifest.h"

namespace polystate {
namespace {

using nlohmann::json;

std::int64_t pages_for(const FakeTokenModel& fake, std::int64_t positions) {
  return (positions + fake.page_size - 1) / fake.page_size;
}

std::int64_t max_step_tokens(const FakeTokenModel& fake) {
  return fake.max_step_tokens > 0 ? fake.max_step_tokens
                                  : std::max(fake.max_sequences, std::int64_t{64});
}

bool has_window_table(const FakeTokenModel& fake) { return fake.window > 0 && fake.sees_all; }
std::int64_t max_wanted(const FakeTokenModel& fake) {
  return fake.max_wanted > 0 ? fake.max_wanted : fake.max_sequences;
}

FakeManifest::Method encode_method(const FakeTokenModel& fake) {
  return {.name = "encode",
          .symbols = {{.name = "batch", .max = fake.max_sequences},
                      {.name = "source", .dimension = 1, .max = fake.max_source_length},
                      {.name = "k",
                       .input = 2,
                       .dimension = 1,
                       .max = pages_for(fake, fake.max_source_length)}},
          .inputs = {{.name = "input_ids", .shape = {"batch", "source"}},
                     {.name = "lengths", .shape = {"batch"}},
                     {.name = "cross_table", .shape = {"batch", "k"}}}};
}

// Its inputs in an order of its own: they are found by their names.
FakeManifest::Method forward_method(const FakeTokenModel& fake) {
  FakeManifest::Method forward = {
      .name = "forward",
      .symbols =
          {{.name = "tokens", .max = max_step_tokens(fake)},
           {.name = "m", .input = 2, .max = max_wanted(fake)},
           {.name = "sequences", .input = 4, .max = fake.max_sequences},
           {.name = "n", .input = 4, .dimension = 1, .max = pages_for(fake, fake.max_length)}},
      .inputs = {{.name = "input_ids", .shape = {"tokens"}},
                 {.name = "rows", .shape = {"tokens"}},
                 {.name = "wanted", .shape = {"m"}},
                 {.name = "positions", .shape = {"tokens"}},
                 {.name = "page_table", .shape = {"sequences", "n"}}},
      .outputs = {{.name = "logits", .shape = {"m", fake.vocabulary_size}}}};
  if (fake.uncounted) forward.inputs.push_back({.name = "counted", .shape = {"tokens"}});
  if (has_window_table(fake)) {
    forward.inputs.push_back({.name = "window_table", .shape = {"sequences", "n"}});
  }
  if (fake.max_source_length > 0) {
    forward.symbols.push_back({.name = "k",
                               .input = forward.inputs.size(),
                               .dimension = 1,
                               .max = pages_for(fake, fake.max_source_length)});
    forward.inputs.push_back({.name = "cross_table", .shape = {"sequences", "k"}});
    forward.inputs.push_back({.name = "cross_lengths", .shape = {"sequences"}});
  }
  return forward;
}

// The pools that hold keys and values.
std::vector<FakeManifest::State> states(const FakeTokenModel& fake) {
  std::vector<FakeManifest::State> all;
  const auto add = [&](const char* name, std::int64_t pages) {
    all.push_back({.name = name, .dtype = "int64", .shape = {pages, fake.page_size}});
  };
  if (fake.sees_all) add("pages", self_pages(fake));
  if (fake.window > 0) add("window_pages", window_pages(fake));
  return all;
}

std::map<std::string, Constant> constants(const FakeTokenModel& fake) {
  std::map<std::string, Constant> all = {
      {"runner", "token_model"},
      {"page_size", fake.page_size},
      {"max_sequences", fake.max_sequences},
      {"max_step_tokens", max_step_tokens(fake)},
      {"max_wanted", max_wanted(fake)},
      {"max_length", fake.max_length},
      {"vocabulary_size", fake.vocabulary_size},
      {"pages", fake.sees_all ? self_pages(fake) : window_pages(fake)}};
  if (fake.window > 0) all.emplace("window", fake.window);
  if (has_window_table(fake)) all.emplace("window_pages", window_pages(fake));
  if (fake.uncounted) all.emplace("padding_id", *fake.uncounted);
  if (fake.max_source_length > 0) {
    all.emplace("max_source_length", fake.max_source_length);
    all.emplace("cross_pages", cross_pages(fake));
  }
  return all;
}

}  // namespace

std::int64_t self_pages(const FakeTokenModel& fake) {
  return fake.pages > 0 ? fake.pages : fake.max_sequences * pages_for(fake, fake.max_length);
}
std::int64_t cross_pages(const FakeTokenModel& fake) {
  return fake.cross_pages > 0 ? fake.cross_pages
                              : fake.max_sequences * pages_for(fake, fake.max_source_length);
}
std::int64_t window_pages(const FakeTokenModel& fake) {
  if (fake.window_pages > 0) return fake.window_pages;
  const std::int64_t chunk = std::min(max_step_tokens(fake), fake.max_length);
  return std::max(fake.max_sequences, std::int64_t{2}) *
         pages_of_window(fake.window, chunk, fake.page_size);
}

std::vector<FakeManifest::Method> fake_methods(const FakeTokenModel& fake) {
  std::vector<FakeManifest::Method> all = {
      forward_method(fake),
      {.name = "copy_pages",
       .symbols = {{.name = "copies", .max = fake.max_sequences}},
       .inputs = {{.name = "source", .shape = {"copies"}}, {.name = "target", .shape = {"copies"}}},
       .writes = {0}}};
  if (has_window_table(fake)) {
    all.push_back(all.back());
    all.back().name = "copy_window_pages";
    all.back().writes = {1};
  }
  if (fake.max_source_length > 0) all.push_back(encode_method(fake));
  return all;
}

std::string fake_manifest(const FakeTokenModel& fake) {
  FakeManifest manifest = {
      .constants = constants(fake), .states = states(fake), .methods = fake_methods(fake)};
  if (!fake.generation_config.empty()) {
    manifest.files["generation_config.json"] = fake.generation_config.size();
  }
  return json::parse(manifest.text()).patch(json::parse(fake.manifest_patch)).dump();
}

}  // namespace polystate
