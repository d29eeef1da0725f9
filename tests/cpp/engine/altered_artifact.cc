#include "engine/altered_artifact.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <span>
#include <sstream>
#include <string>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"
#include "support/test_files.h"

namespace polystate {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

AlteredArtifact::AlteredArtifact(const std::string& name) {
  for (const char* file : {"manifest.json", "model.pte", "SHA256SUMS"}) {
    std::filesystem::copy_file(fixture(name) / file, folder_ / file);
  }
  manifest_ = read_text(folder_ / "manifest.json");
}

AlteredArtifact& AlteredArtifact::replace(const std::string& from, const std::string& to,
                                          const std::string& after) {
  const std::size_t start = manifest_.find(after);
  const std::size_t found = start == std::string::npos ? start : manifest_.find(from, start);
  if (found == std::string::npos) {
    ADD_FAILURE() << "the manifest has no '" << from << "' after '" << after << "'";
    return *this;
  }
  manifest_.replace(found, from.size(), to);
  write();
  return *this;
}

std::string AlteredArtifact::program() const { return read_text(folder_ / "model.pte"); }

AlteredArtifact& AlteredArtifact::replace_program(const std::string& bytes) {
  const std::string size = "\"model.pte\": ";
  const std::size_t number = manifest_.find(size) + size.size();
  manifest_.replace(number, manifest_.find_first_not_of("0123456789", number) - number,
                    std::to_string(bytes.size()));
  write_text(folder_ / "model.pte", bytes);
  write();
  return *this;
}

void AlteredArtifact::write() const {
  write_text(folder_ / "manifest.json", manifest_);
  std::string sums;
  for (const char* file : {"manifest.json", "model.pte"}) {
    const std::string text = read_text(folder_ / file);
    sums += to_hex(sha256_of(std::as_bytes(std::span(text))).value()) + "  " + file + "\n";
  }
  write_text(folder_ / "SHA256SUMS", sums);
}

Result<Artifact> AlteredArtifact::open() const { return Artifact::open(folder_.path()); }

}  // namespace polystate
