#pragma once

#include <torch/csrc/inductor/aoti_torch/c/macros.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

// Calls an operator of PyTorch by libtorch's dispatcher, as aoti_torch_call_dispatcher does: the
// first results take the places of the arguments on `stack`. Libraries of AOTInductor call it for
// operators that have no C form; the session that called the library learns why one failed.
extern "C" __attribute__((visibility("default"))) AOTITorchError
polystate_call_dispatcher(const char* name, const char* overload, StableIValue* stack);
