#include "check/image.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"

namespace fuseproof {
namespace {

bool reads(ArgumentRole role) { return role == ArgumentRole::kIn || role == ArgumentRole::kInOut; }

bool writes(ArgumentRole role) {
  return role == ArgumentRole::kOut || role == ArgumentRole::kInOut;
}

// The parts of an argument that the kernel writes: what the fragment's outputs name, else all of
// it.
std::vector<Layout> written_views(const SiteBundle& site, const CallRecord& call,
                                  std::size_t index) {
  std::vector<Layout> views;
  for (const FragmentOutput& output : site.fragment.outputs) {
    if (output.argument != static_cast<std::int64_t>(index)) continue;
    views.push_back(layout_of_output(call, output));
  }
  if (views.empty()) views.push_back(call.arguments[index].layout);
  return views;
}

}  // namespace

Layout layout_of_output(const CallRecord& call, const FragmentOutput& output) {
  return layout_in_storage(call, output.argument, output.layout,
                           fmt::format("the fragment's output `{}`", output.buffer));
}

CallImage::CallImage(const RunReader& run, const SiteBundle& site, const CallRecord& call) {
  for (const CallStorage& storage : call.storages) {
    requests_.push_back({storage.size_bytes, storage.address_mod_64});
    Storage& entry = storages_.emplace_back(storage.size_bytes);
    if (!storage.blob.empty()) entry.content = run.read_blob(storage);
    if (storage.blob.empty() && storage.omitted != "output") missing_inputs_ = storage.omitted;
  }
  mark_arguments(site, call);
}

bool CallImage::Storage::is_all_poison() const {
  return !content ||
         (written.extent() == ByteMask::Extent::kAll && read.extent() == ByteMask::Extent::kNone);
}

bool CallImage::Storage::has_no_poison() const {
  return content &&
         (written.extent() == ByteMask::Extent::kNone || read.extent() == ByteMask::Extent::kAll);
}

void CallImage::mark_arguments(const SiteBundle& site, const CallRecord& call) {
  for (std::size_t index = 0; index < call.arguments.size(); ++index) {
    const CallArgument& argument = call.arguments[index];
    if (argument.kind != CallArgument::Kind::kTensor) continue;
    Storage& storage = storages_[static_cast<std::size_t>(argument.storage)];
    // Constants of the fragment follow the kernel's own arguments; nothing writes them.
    const ArgumentRole role =
        index < site.spec.arguments.size() ? site.spec.arguments[index].role : ArgumentRole::kIn;
    if (reads(role)) storage.read.mark(argument.layout);
    if (!writes(role)) continue;
    for (const Layout& view : written_views(site, call, index)) {
      if (required_storage_bytes(view) > storage.written.size_bytes()) {
        throw Error(ErrorKind::kBadInput,
                    fmt::format("{}: fragment.json: the output on argument {} needs {} bytes; its "
                                "storage has {}",
                                site.folder.string(), index, required_storage_bytes(view),
                                storage.written.size_bytes()));
      }
      storage.written.mark(view);
      if (view.dtype == DType::kBool) storage.is_bool.mark(view);
    }
  }
}

std::vector<StorageRequest> CallImage::requests() const { return requests_; }

std::byte CallImage::poison_byte(std::size_t storage, std::size_t byte, Poison poison) const {
  if (storages_[storage].is_bool[byte]) return std::byte{poison == Poison::kFinite};
  return poison == Poison::kNan ? std::byte{0xff} : std::byte{0x3c};
}

std::byte CallImage::initial_byte(std::size_t storage, std::size_t byte, Poison poison) const {
  const Storage& entry = storages_[storage];
  if (entry.content && !entry.is_poisoned(byte)) return entry.content->bytes()[byte];
  return poison_byte(storage, byte, poison);
}

void CallImage::fill_inputs(Arena& arena) const {
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const std::span<std::byte> target = arena.storage(i);
    if (storages_[i].content) {
      std::copy_n(storages_[i].content->bytes().begin(), target.size(), target.begin());
    } else {
      std::fill(target.begin(), target.end(), std::byte{0});
    }
  }
}

void CallImage::fill_poisoned(Arena& arena, Poison poison) const {
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const Storage& storage = storages_[i];
    const std::span<std::byte> target = arena.storage(i);
    if (target.empty()) continue;
    const bool has_no_bools = storage.is_bool.extent() == ByteMask::Extent::kNone;
    if (storage.has_no_poison()) {
      std::memcpy(target.data(), storage.content->bytes().data(), target.size());
    } else if (storage.is_all_poison() && has_no_bools) {
      std::fill(target.begin(), target.end(), poison_byte(i, 0, poison));
    } else {
      for (std::size_t byte = 0; byte < target.size(); ++byte) {
        target[byte] = initial_byte(i, byte, poison);
      }
    }
  }
}

// Whether the storage is a plain input that came back as it was.
bool CallImage::is_untouched_input(std::size_t storage, std::span<const std::byte> after) const {
  const Storage& entry = storages_[storage];
  return entry.content && entry.written.extent() == ByteMask::Extent::kNone &&
         std::memcmp(entry.content->bytes().data(), after.data(), after.size()) == 0;
}

std::vector<CallImage::Trespass> CallImage::trespasses(const Arena& arena, Poison poison) const {
  std::vector<Trespass> found;
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const std::span<const std::byte> after = arena.storage(i);
    if (after.empty() || storages_[i].written.extent() == ByteMask::Extent::kAll) continue;
    if (is_untouched_input(i, after)) continue;
    Trespass trespass{i, 0, 0, false};
    for (std::size_t byte = 0; byte < after.size(); ++byte) {
      if (storages_[i].written[byte] || after[byte] == initial_byte(i, byte, poison)) continue;
      if (trespass.changed_bytes++ == 0) trespass.first_byte = byte;
      trespass.is_input = trespass.is_input || storages_[i].read[byte];
    }
    if (trespass.changed_bytes > 0) found.push_back(trespass);
  }
  return found;
}

}  // namespace fuseproof
