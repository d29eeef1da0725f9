#pragma once

namespace polystate::python {

// Refuses (UnsupportedError) a process that was forked from one which opened a model: the engine's
// threads and locks do not survive a fork, and a call would hang. The first call decides whose
// process it is.
void check_process();

}  // namespace polystate::python
