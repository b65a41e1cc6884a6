#include "bundle/side_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "bundle/kernel_spec.h"
#include "fragment/fragment.h"
#include "tensor/hash.h"

namespace fuseproof {
namespace {

struct Header {
  Json json;
  Path path;
};

// Without the hash of the content.
Header header_of(const Path& folder, const SideFileKey& key) {
  Json json = {{"program", key.program}, {"module", key.module}, {"graph", xxh128_hex(key.graph)}};
  const std::string hash = xxh128_hex(json_text(json, -1));
  return {std::move(json), folder / fmt::format("{}.json", hash)};
}

void require_graphs(const JsonObject& content, std::size_t sites) {
  for (const JsonObject& graph : content.objects("graphs")) {
    graph.string("sub_graph");
    graph.object("info");
    graph.object("document");
    for (const JsonObject& item : graph.objects("order")) {
      if (item.string("kind") == "kernel" && item.size("site") >= sites) {
        item.fail("site", fmt::format("is beyond the {} sites", sites));
      }
    }
  }
}

void require_site(const JsonObject& site) {
  site.string("sub_graph");
  site.string("source");
  kernel_spec_from_json(site.object("spec"));
  fragment_from_json(site.object("fragment"));
  for (const JsonObject& constant : site.objects("constants")) {
    if (constant.has("attribute")) {
      constant.string("attribute");
      continue;
    }
    constant.string("dtype");
    constant.integers("shape");
    constant.integers("strides");
    constant.string("bytes");
  }
}

void require_sound(std::string_view text) {
  const std::string where = "content of a side file";
  const Json json = parse_json(text, where);
  const JsonObject content(json, where);
  const std::vector<JsonObject> sites = content.objects("sites");
  require_graphs(content, sites.size());
  for (const JsonObject& site : sites) require_site(site);
  if (text.find('\n') != std::string_view::npos) {
    throw Error(ErrorKind::kBadInput, where + " is not one line");
  }
}

}  // namespace

void write_side_file(FileSystem& files, const Path& folder, const SideFileKey& key,
                     std::string_view content) {
  require_sound(content);
  Header header = header_of(folder, key);
  header.json["content"] = xxh128_hex(content);
  files.create_folders(folder);
  files.write_text_atomically(header.path,
                              fmt::format("{}\n{}\n", json_text(header.json, -1), content));
}

std::optional<std::string> read_side_file(FileSystem& files, const Path& folder,
                                          const SideFileKey& key) {
  Header header = header_of(folder, key);
  if (!files.exists(header.path)) return std::nullopt;
  std::string text;
  try {
    text = files.read_text(header.path);
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || text.back() != '\n') return std::nullopt;
  std::string content = text.substr(end + 1);
  if (!content.empty()) content.pop_back();
  header.json["content"] = xxh128_hex(content);
  if (std::string_view(text).substr(0, end) != json_text(header.json, -1)) return std::nullopt;
  return content;
}

std::string package_hash(FileSystem& files, const Path& package) {
  std::string hashes;
  for (const std::string& name : files.list(package)) {
    if (!name.ends_with(".py") && !name.ends_with(".so")) continue;
    hashes += fmt::format("{} {}\n", name, xxh128_hex(files.map(package / name)->bytes()));
  }
  return xxh128_hex(hashes);
}

}  // namespace fuseproof
