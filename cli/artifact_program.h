#pragma once

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "program/pictures.h"
#include "program/program.h"

namespace polystate::cli {

// Whether the artifact's program lists its operators; machine code does not.
bool has_operators(const Artifact& artifact);

// What its program says of itself; kArtifact where it is damaged, kUnsupported where it is machine
// code. It borrows the artifact's bytes.
Result<program::Program> program_of(const Artifact& artifact);

// How the manifest calls what a method of the program takes and gives.
program::MethodNames names_of(const MethodSpec& method);

}  // namespace polystate::cli
