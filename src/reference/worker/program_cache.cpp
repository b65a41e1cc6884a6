#include "reference/worker/program_cache.h"

namespace fuseproof {

std::shared_ptr<const FragmentProgram> ProgramCache::find(const std::string& hash) const {
  const auto found = programs_.find(hash);
  return found != programs_.end() ? found->second : nullptr;
}

void ProgramCache::insert(const std::string& hash, std::shared_ptr<const FragmentProgram> program) {
  if (!programs_.emplace(hash, std::move(program)).second) return;
  order_.push_back(hash);
  if (order_.size() <= capacity_) return;
  programs_.erase(order_.front());
  order_.pop_front();
}

}  // namespace fuseproof
