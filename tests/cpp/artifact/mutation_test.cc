// Readers of untrusted files on damaged input, by the thousand: whatever comes, they answer, and
// say why in printable text. The sanitizers of the asan build watch.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/checksums.h"
#include "artifact/tiny_artifact.h"
#include "core/names.h"
#include "core/utf8.h"
#include "polystate/artifact/contract.h"
#include "polystate/artifact/manifest.h"
#include "polystate/artifact/npz.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"
#include "support/test_files.h"

namespace polystate {
namespace {

// The same numbers in every run.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return engine_() % count; }
  template <typename Container>
  decltype(auto) one_of(Container& container) {
    return container[below(container.size())];
  }

 private:
  std::mt19937_64 engine_;
};

void expect_printable(const Error& error) {
  EXPECT_FALSE(error.message.empty());
  EXPECT_TRUE(is_utf8(error.message) && is_printable(error.message)) << error.message;
}

// Changes, inserts, removes or repeats a few bytes.
std::string mutate(std::string text, Random& random) {
  using namespace std::string_view_literals;
  static constexpr std::string_view kLikely = "\0\1\x7f\xff\"[]{},:-019eE\\\n"sv;
  for (std::size_t i = random.below(4) + 1; i-- > 0 && !text.empty();) {
    const std::size_t place = random.below(text.size());
    switch (random.below(4)) {
      case 0:
        text[place] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.insert(place, 1, random.one_of(kLikely));
        break;
      case 2:
        text.erase(place, random.below(8) + 1);
        break;
      default:
        text.insert(place, text.substr(random.below(text.size()), random.below(32) + 1));
        break;
    }
  }
  return text;
}

// All places in a document.
void collect(nlohmann::json& json, std::vector<nlohmann::json*>& places) {
  places.push_back(&json);
  if (!json.is_structured()) return;
  for (nlohmann::json& child : json) collect(child, places);
}

// Puts an odd value, or one from elsewhere, somewhere into the manifest.
void mutate(nlohmann::json& manifest, Random& random) {
  static const std::array<nlohmann::json, 16> kOdd = {
      nullptr,
      true,
      0,
      -1,
      1,
      63,
      9223372036854775807,
      -9223372036854775807 - 1,
      0.5,
      "",
      "batch",
      "a b",
      nlohmann::json::array(),
      nlohmann::json::object(),
      nlohmann::json::array({"+", "batch", 9223372036854775807}),
      nlohmann::json::array({"//", 1, nlohmann::json::array({"+", "batch", -1})})};
  std::vector<nlohmann::json*> places;
  collect(manifest, places);
  nlohmann::json& place = *places[random.below(places.size() - 1) + 1];
  switch (random.below(4)) {
    case 0:
      place = nlohmann::json(*random.one_of(places));
      break;
    case 1:
      if (place.is_array() && !place.empty()) place.push_back(nlohmann::json(random.one_of(place)));
      break;
    case 2:
      if (place.is_structured() && !place.empty()) place.erase(place.begin());
      break;
    default:
      place = random.one_of(kOdd);
      break;
  }
}

// Calls the contract of every method with tensors of the right kinds and random sizes and values.
void try_contracts(const Manifest& manifest, Random& random) {
  for (const MethodSpec& method : manifest.methods) {
    std::vector<Tensor> inputs;
    for (const InputSpec& input : method.inputs) {
      Shape shape(input.shape.size());
      for (std::int64_t& size : shape) size = static_cast<std::int64_t>(random.below(5));
      inputs.push_back(Tensor::empty(input.dtype, shape).value());
      for (std::byte& byte : inputs.back().mutable_bytes())
        byte = static_cast<std::byte>(random.below(3));
    }
    const Status status = check_contract(method, inputs);
    if (!status) expect_printable(status.error());
  }
}

TEST(Mutations, OfAManifestsValuesAreAnswered) {
  const nlohmann::json good = nlohmann::json::parse(tiny_manifest());
  Random random(1);
  std::size_t accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    nlohmann::json bad = good;
    for (std::size_t count = random.below(3) + 1; count-- > 0;) mutate(bad, random);
    const Result<Manifest> manifest = Manifest::parse(bad.dump());
    if (manifest) {
      ++accepted;
      try_contracts(*manifest, random);
    } else {
      expect_printable(manifest.error());
    }
  }
  EXPECT_GT(accepted, 100);   // else the contracts would hardly have been tried
  EXPECT_LT(accepted, 2500);  // else the mutations would be no damage
}

TEST(Mutations, OfAManifestsTextAreAnswered) {
  Random random(2);
  for (int i = 0; i < 5000; ++i) {
    const Result<Manifest> manifest = Manifest::parse(mutate(std::string(tiny_manifest()), random));
    if (!manifest) expect_printable(manifest.error());
  }
}

TEST(Mutations, OfDigestsAreAnswered) {
  const std::string good = TinyArtifact().files["SHA256SUMS"];
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const auto sums = parse_checksums(mutate(good, random));
    if (!sums) expect_printable(sums.error());
  }
}

TEST(Mutations, OfNumPyFilesAreAnswered) {
  Random random(4);
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz", "version_2.npy"}) {
    std::ifstream file(test_file("artifact/data") / name, std::ios::binary);
    const std::string good{std::istreambuf_iterator<char>(file), {}};
    for (int i = 0; i < 2000; ++i) {
      const std::string bad = mutate(good, random);
      const auto arrays = parse_npz(std::as_bytes(std::span(bad)));
      if (!arrays) expect_printable(arrays.error());
      const auto array = parse_npy(std::as_bytes(std::span(bad)));
      if (!array) expect_printable(array.error());
    }
  }
}

}  // namespace
}  // namespace polystate
