// Findings that are known already, so that a check fails for new ones only. A baseline is the JSON
// document of an earlier check (`fuseproof check RUN --json`), of the same program or of one that
// has been edited since.
//
// A finding is recognised by what edits of other code leave alone: the kernel's name without the
// number at its end, the text of the user's line without the file's place and the line's number,
// and which outputs differ how, over all its recorded calls. Each entry of a baseline stands for
// one finding: a second kernel with the same fault is new, and so is another wrong output of the
// same kernel.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "check/results.h"

namespace fuseproof {

class Baseline {
 public:
  // Throws kBadInput for what is no result of a check, naming `where`.
  Baseline(const Json& document, const std::string& where);
  // Throws kIo or kBadInput.
  static Baseline read(FileSystem& files, const Path& path);

  // Sets `is_known` of the findings that the baseline has. Returns how many findings of the
  // baseline were not met.
  std::size_t mark_known(std::vector<SiteResult>& results) const;

 private:
  struct Entry {
    std::string kernel;
    std::string line;
    std::set<std::string> faults;  // SiteResult::faults()

    bool covers(const Entry& found) const;
  };
  static Entry entry_of(const JsonObject& result);

  std::vector<Entry> entries_;
};

}  // namespace fuseproof
