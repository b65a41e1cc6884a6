#include "compare/parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace fuseproof {

void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t wanted = std::min(count, static_cast<std::size_t>(std::max(1, threads)));
  std::vector<std::jthread> helpers;
  helpers.reserve(wanted);
  try {
    while (helpers.size() + 1 < wanted) helpers.emplace_back(run);
  } catch (const std::system_error&) {
    // The threads that did start, and this one, do all the work.
  }
  run();
}

}  // namespace fuseproof
