// What a capture learnt of one compiled graph, kept beside torch's cache of compiled graphs.
//
// A hit in that cache skips code generation, and with it everything that a capture reads: kernels
// with their fragments, the order of calls, the graphs. A side file has it for the next program. It
// is one header and one content, each a line of JSON:
//
//   {"program": "…", "module": "…", "graph": "<xxh128>", "content": "<xxh128>"}
//   {"graphs": [{"sub_graph": ""|".0", "info", "document", "order", "symbol_places"}],
//    "sites": [{"sub_graph", "spec", "fragment", "source", "constants", "symbol_places"}],
//    "chains": […]}
//
// `chains` are the graphs before the lowered one. `spec` and `fragment` are those of kernel.json
// and fragment.json, `document` and `order` those of graph.json, where a kernel of `order` is named
// by its index in `sites`. A constant is an attribute of the generated module ({"attribute"}) or
// written out ({"dtype", "shape", "strides", "bytes"}).
//
// The header is there to be sure: a file whose content does not have the header's hash, or whose
// header is not the one asked for, counts as absent. So there is no need to tell versions of the
// content apart: another version of Fuseproof or torch is another program, and has files of its
// own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace fuseproof {

struct SideFileKey {
  std::string module;   // hash of the generated module's source, as torch names it
  std::string graph;    // the lowered graph as text
  std::string program;  // who writes it: versions of Fuseproof and torch
};

// Throws kBadInput when `content` is no content of a side file, kIo when it cannot be written.
// Processes may write the same file at once.
void write_side_file(FileSystem& files, const Path& folder, const SideFileKey& key,
                     std::string_view content);

// The content; nothing when there is no file, or it is damaged or another's.
std::optional<std::string> read_side_file(FileSystem& files, const Path& folder,
                                          const SideFileKey& key);

// Names an installed package's state: a hash over its Python sources and shared objects.
std::string package_hash(FileSystem& files, const Path& package);

}  // namespace fuseproof
