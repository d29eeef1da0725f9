#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace polystate {

// The manifest of an artifact with two methods over two states, and one of everything that a
// manifest may hold.
std::string_view tiny_manifest();

// The same with the only occurrence of `before` replaced. A test fails where there is not exactly
// one.
std::string edited_manifest(std::string_view before, std::string_view after);

// The files of an artifact of that manifest; the program is no real one.
class TinyArtifact {
 public:
  TinyArtifact();

  // Files by name. SHA256SUMS is made by seal.
  std::map<std::string, std::string> files;

  // Gives SHA256SUMS the digests that the other files have now.
  void seal();
  // Writes all files to a new directory.
  void write(const std::filesystem::path& directory) const;
};

}  // namespace polystate
