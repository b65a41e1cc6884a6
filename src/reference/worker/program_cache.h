// Prepared fragments by the hash of their content, so that a further call of a fragment costs its
// run alone. Bounded: the one that came first goes first.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "reference/fragment_program.h"

namespace fuseproof {

class ProgramCache {
 public:
  explicit ProgramCache(std::size_t capacity) : capacity_(capacity) {}

  // Null when there is none of this hash.
  std::shared_ptr<const FragmentProgram> find(const std::string& hash) const;
  void insert(const std::string& hash, std::shared_ptr<const FragmentProgram> program);

 private:
  std::size_t capacity_;
  std::deque<std::string> order_;
  std::unordered_map<std::string, std::shared_ptr<const FragmentProgram>> programs_;
};

}  // namespace fuseproof
