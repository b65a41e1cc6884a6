// The pages before and behind each storage of an arena, made inaccessible around a call. A first
// read opens a page for reading, a first write for writing too; each is recorded and the code goes
// on, so that one stray access does not hide what comes after it.
#pragma once

#include "sandbox/runner/result_block.h"
#include "tensor/arena.h"

namespace fuseproof {

// Protects the arena's guard pages and takes over SIGSEGV and SIGBUS, on a stack of their own, for
// the rest of this process's life. A fault elsewhere leaves its address in `result` and then ends
// the process as it would have done. Call once in a process; both arguments must live as long as it
// does.
void install_guard_pages(const Arena& arena, ResultBlock& result);

}  // namespace fuseproof
