#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "polystate/report/document.h"

namespace polystate::program {

// The groups of a picture, each from its first use on. A legend names kMost at most, the last of
// which then stands for all others.
class Groups {
 public:
  explicit Groups(std::vector<report::Group>& groups) : groups_(groups) {}

  std::size_t index(const std::string& name, report::Tone tone) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].name == name) return i;
    }
    if (groups_.size() == kMost) return kMost - 1;
    groups_.push_back({.name = name, .tone = tone});
    return groups_.size() - 1;
  }

 private:
  static constexpr std::size_t kMost = 16;

  std::vector<report::Group>& groups_;
};

}  // namespace polystate::program
