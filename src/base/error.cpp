#include "base/error.h"

#include <array>

namespace fuseproof {
namespace {

constexpr std::array kErrorKinds = {
    ErrorKindInfo{ErrorKind::kUsage, "usage", 2, "UsageError"},
    ErrorKindInfo{ErrorKind::kBadInput, "bad_input", 2, "BadInputError"},
    ErrorKindInfo{ErrorKind::kUnsupported, "unsupported", 3, "UnsupportedError"},
    ErrorKindInfo{ErrorKind::kIo, "io", 2, "FileAccessError"},
    ErrorKindInfo{ErrorKind::kInternal, "internal", 3, "InternalError"},
};

}  // namespace

const ErrorKindInfo& error_kind_info(ErrorKind kind) {
  for (const ErrorKindInfo& info : kErrorKinds) {
    if (info.kind == kind) return info;
  }
  return kErrorKinds.back();
}

ErrorKind error_kind_from_name(std::string_view name) {
  for (const ErrorKindInfo& info : kErrorKinds) {
    if (info.name == name) return info.kind;
  }
  return ErrorKind::kInternal;
}

}  // namespace fuseproof
