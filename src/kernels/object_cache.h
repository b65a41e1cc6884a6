// Compiled kernels on disk, each built once for all processes of a user.
//
//   FOLDER/objects/<key><suffix>           what was built
//   FOLDER/objects/<key><suffix>.xxh128    the hash of its content, checked at every use
//   FOLDER/objects/<key><suffix>.lock      flock()ed while it is being built; a holder that dies
//   lets go
//
// The key says everything that the content depends on; its choice is the caller's. An entry whose
// content does not fit its hash is built anew. Since objects are native code, a folder that others
// may write to is not used: like a folder that cannot be written to, it is replaced by a private
// one that lives as long as the cache object, with one warning.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace fuseproof {

// $FUSEPROOF_CACHE_DIR, else $XDG_CACHE_HOME/fuseproof, else ~/.cache/fuseproof; empty without a
// home.
Path default_cache_folder();

class ObjectCache {
 public:
  using Warn = std::function<void(const std::string&)>;
  // Writes the object to the path. False: it could not be built (nothing is kept). May throw.
  using Build = std::function<bool(const Path& target)>;

  struct Entry {
    Path object;
    bool was_built = false;  // by this call
  };

  ObjectCache(FileSystem& files, Path folder, Warn warn);
  ~ObjectCache();
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  // The entry from the cache, or built. Nothing: `build` returned false.
  std::optional<Entry> get(const std::string& key, std::string_view suffix, const Build& build);
  // The entry if it is there and sound.
  std::optional<Path> find(const std::string& key, std::string_view suffix);

 private:
  const Path& objects();
  bool is_sound(const Path& object);

  FileSystem& files_;
  Path folder_;
  Warn warn_;
  Path objects_;         // empty before the first use
  Path private_folder_;  // removed at the end; mostly empty
};

}  // namespace fuseproof
