// Runs independent pieces of work on a few threads. Results do not depend on the number of threads
// as long as each piece writes to a place of its own.
#pragma once

#include <cstddef>
#include <functional>

namespace fuseproof {

// Calls work(i) once for each i < count, on at most `threads` threads, the calling one among them.
// `work` must not throw. Fewer threads are used when the system refuses to start one.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace fuseproof
