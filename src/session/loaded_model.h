#pragma once

#include <memory>

#include "polystate/artifact/artifact.h"
#include "polystate/engine/engine.h"
#include "polystate/session/model.h"

namespace polystate {

// What a model's copies and its sessions share.
struct Model::Loaded {
  Artifact artifact;
  std::unique_ptr<const Engine> engine;
};

}  // namespace polystate
