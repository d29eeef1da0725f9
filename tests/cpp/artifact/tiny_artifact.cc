#include "artifact/tiny_artifact.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <span>
#include <string>
#include <string_view>

#include "polystate/core/sha256.h"

namespace polystate {
namespace {

constexpr std::string_view kManifest = R"json({
  "format": "polystate",
  "format_version": 1,
  "versions": {"polystate": "0.1.0", "torch": "2.13.0"},
  "program": {
    "engine": "executorch", "file": "model.pte", "backend": "xnnpack", "quantization": null,
    "operators": ["aten::add.out"], "delegates": ["XnnpackBackend"]
  },
  "files": {"golden.npz": 40, "model.pte": 100},
  "constants": {"max_length": 64, "scale": -0.5, "tied": true, "task": "toy"},
  "state": [
    {"name": "cache", "dtype": "float32", "shape": [10, 20], "initial": "zeros", "preview": "0, 0"},
    {"name": "step.count", "dtype": "int64", "shape": [], "initial": "stored", "preview": "7"}
  ],
  "methods": [
    {
      "name": "set_cache",
      "symbols": [
        {"name": "batch", "input": 0, "dimension": 0, "min": 1, "max": 10, "scale": 1, "offset": 0},
        {"name": "half", "input": 1, "dimension": 0, "min": 0, "max": 9223372036854775807, "scale": 2, "offset": 1}
      ],
      "inputs": [
        {"name": "data", "dtype": "float32", "shape": ["batch", ["*", 3, "batch"], 20], "values": [], "written_from": null},
        {
          "name": "position", "dtype": "int64", "shape": [["+", ["*", 2, "half"], 1]],
          "values": [{"min": 0, "max": ["+", "batch", -1], "reason": "indexes dimension 0 of 'cache'"}],
          "written_from": 0
        },
        {"name": "scratch.0", "dtype": "float32", "shape": [4], "values": [], "written_from": 1}
      ],
      "outputs": [
        {"name": "0", "dtype": "float32", "shape": ["batch", null], "program_output": 2},
        {"name": "1", "dtype": "int64", "shape": [null], "program_output": 0}
      ],
      "guards": [{"condition": ["==", ["%", "batch", 2], 0], "text": "batch % 2 == 0", "source": "model.py:12"}],
      "checks": [
        {"id": 3, "text": "k < 4", "source": "model.py:13"},
        {"id": 4, "text": "k >= 0", "source": ""}
      ],
      "reads": [0, 1],
      "writes": [{"state": 1, "update": "in_place", "reason": "nothing reads the old value later"}],
      "atomic": true, "checks_first": true,
      "activation_bytes": 4096
    },
    {
      "name": "get_cache",
      "symbols": [], "inputs": [], "outputs": [], "guards": [], "checks": [], "reads": [], "writes": [],
      "atomic": false, "checks_first": true,
      "activation_bytes": 0
    }
  ],
  "golden": {"file": "golden.npz", "calls": ["set_cache", "get_cache"], "relative_tolerance": 1e-5, "absolute_tolerance": 0}
}
)json";

}  // namespace

std::string_view tiny_manifest() { return kManifest; }

std::string edited_manifest(std::string_view before, std::string_view after) {
  std::string text(kManifest);
  const std::size_t place = text.find(before);
  if (place == std::string::npos || text.find(before, place + 1) != std::string::npos) {
    ADD_FAILURE() << "the manifest does not have exactly one " << before;
    return text;
  }
  return text.replace(place, before.size(), after);
}

TinyArtifact::TinyArtifact()
    : files({{"manifest.json", std::string(kManifest)},
             {"model.pte", std::string(100, 'p')},
             {"golden.npz", std::string(40, 'g')}}) {
  seal();
}

void TinyArtifact::seal() {
  files.erase("SHA256SUMS");
  std::string sums;
  for (const auto& [name, content] : files) {
    sums += to_hex(sha256_of(std::as_bytes(std::span(content))).value()) + "  " + name + "\n";
  }
  files["SHA256SUMS"] = sums;
}

void TinyArtifact::write(const std::filesystem::path& directory) const {
  std::filesystem::create_directory(directory);
  for (const auto& [name, content] : files) {
    std::ofstream(directory / name, std::ios::binary) << content;
  }
}

}  // namespace polystate
