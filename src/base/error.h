// The one error type that crosses Fuseproof's boundaries (command line, Python, worker processes).
//
// A message says what happened, where (file, kernel, node) and what to do next. The kind decides
// the exit status of the command line and the Python exception class; both come from the one table
// in error.cpp, so that they cannot drift apart.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace fuseproof {

enum class ErrorKind {
  kUsage,        // the caller asked for something that does not exist or does not fit together
  kBadInput,     // a file or record is truncated, edited, foreign or malformed
  kUnsupported,  // valid input that this build or this machine cannot handle
  kIo,           // the operating system refused a read or a write
  kInternal,     // a defect of Fuseproof itself
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

struct ErrorKindInfo {
  ErrorKind kind;
  std::string_view name;              // used in JSON and between processes
  int exit_status;                    // of the command line
  std::string_view python_exception;  // class in the Python package `fuseproof`
};

// The table row of a kind. Total: every kind has a row.
const ErrorKindInfo& error_kind_info(ErrorKind kind);

// The kind whose row has this name; kInternal for a name that no row has.
ErrorKind error_kind_from_name(std::string_view name);

}  // namespace fuseproof
