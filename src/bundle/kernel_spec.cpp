#include "bundle/kernel_spec.h"

#include <array>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

constexpr std::array<std::string_view, 4> kRoleNames = {"in", "out", "inout", "size"};

ArgumentRole role_from_json(const JsonObject& object) {
  const std::string name = object.string("role");
  for (std::size_t i = 0; i < kRoleNames.size(); ++i) {
    if (kRoleNames[i] == name) return static_cast<ArgumentRole>(i);
  }
  object.fail("role", fmt::format("is `{}`; known roles are in, out, inout and size", name));
}

Json argument_to_json(const KernelArgument& argument) {
  Json json = {{"name", argument.name},
               {"role", role_name(argument.role)},
               {"type", argument.type},
               {"value", argument.value}};
  if (!argument.aliases.empty()) json["aliases"] = argument.aliases;
  return json;
}

KernelArgument argument_from_json(const JsonObject& object) {
  return {
      .name = object.string("name"),
      .role = role_from_json(object),
      .type = object.string("type"),
      .value = object.string("value"),
      .aliases = object.has("aliases") ? object.strings("aliases") : std::vector<std::string>{}};
}

Json recipe_to_json(const BuildRecipe& recipe) {
  return {{"compiler", recipe.compiler}, {"compiler_version", recipe.compiler_version},
          {"standard", recipe.standard}, {"flags", recipe.flags},
          {"defines", recipe.defines},   {"libraries", recipe.libraries}};
}

BuildRecipe recipe_from_json(const JsonObject& object) {
  return {.compiler = object.string("compiler"),
          .compiler_version = object.string_or("compiler_version", ""),
          .standard = object.string("standard"),
          .flags = object.strings("flags"),
          .defines = object.strings("defines"),
          .libraries = object.strings("libraries")};
}

Json artifact_to_json(const Artifact& artifact) {
  return {{"kind", artifact.kind},
          {"entry", artifact.entry},
          {"source_file", artifact.source_file},
          {"source_hash", artifact.source_hash},
          {"object_file", artifact.object_file},
          {"object_hash", artifact.object_hash},
          {"build_error", artifact.build_error},
          {"recipe", recipe_to_json(artifact.recipe)}};
}

// A file of the site's own folder; never a path that leads out of it.
std::string file_name(const JsonObject& object, std::string_view key) {
  std::string name = object.string(key);
  if (name.find('/') != std::string::npos || name == ".." || name == ".") {
    object.fail(key, "is a path; a bundle names only files of its own folder");
  }
  return name;
}

std::string source_file(const JsonObject& object) {
  std::string name = file_name(object, "source_file");
  if (name.empty()) object.fail("source_file", "is empty");
  return name;
}

Artifact artifact_from_json(const JsonObject& object) {
  return {.kind = object.string("kind"),
          .entry = object.string("entry"),
          .source_file = source_file(object),
          .source_hash = object.string("source_hash"),
          .object_file = file_name(object, "object_file"),
          .object_hash = object.string("object_hash"),
          .build_error = object.string_or("build_error", ""),
          .recipe = recipe_from_json(object.object("recipe"))};
}

// The fields that this version knows; kept apart from those of a newer minor version.
Json known_fields(const KernelSpec& spec) {
  Json arguments = Json::array();
  for (const KernelArgument& argument : spec.arguments) {
    arguments.push_back(argument_to_json(argument));
  }
  return {{"version", fmt::format("{}.{}", spec.version_major, spec.version_minor)},
          {"kernel", spec.kernel},
          {"site", spec.site},
          {"graph", spec.graph},
          {"device", spec.device},
          {"threads", spec.threads},
          {"is_static", spec.is_static},
          {"cpp_wrapper", spec.cpp_wrapper},
          {"arguments", std::move(arguments)},
          {"symbol_hints", spec.symbol_hints},
          {"nodes", spec.nodes},
          {"artifact", artifact_to_json(spec.artifact)}};
}

}  // namespace

std::string_view role_name(ArgumentRole role) { return kRoleNames[static_cast<std::size_t>(role)]; }

BundleVersion read_bundle_version(const JsonObject& object) {
  const std::string text = object.string("version");
  BundleVersion version;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%d.%d%c", &version.major_number, &version.minor_number, &rest) !=
      2) {
    object.fail("version", fmt::format("is `{}`, not MAJOR.MINOR", text));
  }
  if (version.major_number > kBundleVersionMajor) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: written by a newer Fuseproof (format {}; this one reads {}.x). "
                            "Update Fuseproof, or capture again with this version.",
                            object.where(), text, kBundleVersionMajor));
  }
  return version;
}

Json to_json(const KernelSpec& spec) {
  Json json = known_fields(spec);
  for (const auto& [name, value] : spec.unknown_fields.items()) json[name] = value;
  return json;
}

KernelSpec kernel_spec_from_json(const JsonObject& object) {
  KernelSpec spec;
  const BundleVersion version = read_bundle_version(object);
  spec.version_major = version.major_number;
  spec.version_minor = version.minor_number;
  spec.kernel = object.string("kernel");
  spec.site = object.string("site");
  spec.graph = object.string("graph");
  spec.device = object.string("device");
  spec.threads = static_cast<int>(object.integer("threads"));
  spec.is_static = object.boolean("is_static");
  spec.cpp_wrapper = object.boolean("cpp_wrapper");
  for (const JsonObject& argument : object.objects("arguments")) {
    spec.arguments.push_back(argument_from_json(argument));
  }
  const JsonObject hints = object.object("symbol_hints");
  for (const auto& [name, value] : hints.value().items()) {
    spec.symbol_hints[name] = hints.integer(name);
  }
  spec.nodes = object.strings("nodes");
  spec.artifact = artifact_from_json(object.object("artifact"));
  const Json known = known_fields(spec);
  for (const auto& [name, value] : object.value().items()) {
    if (!known.contains(name)) spec.unknown_fields[name] = value;
  }
  return spec;
}

}  // namespace fuseproof
