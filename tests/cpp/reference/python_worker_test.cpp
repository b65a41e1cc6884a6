#include "reference/python/python_worker.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "base/error.h"
#include "temporary_folder.h"

namespace fuseproof {
namespace {

// An executable that stands for the interpreter.
class Interpreter {
 public:
  explicit Interpreter(const std::string& text) : path_(folder_.path() / "python") {
    std::ofstream(path_) << "#!/bin/sh\n" << text << "\n";
    ::chmod(path_.c_str(), 0700);
  }
  const Path& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  Path path_;
};

std::string refusal(PythonWorker& worker) {
  try {
    worker.ask({{"request", "describe"}, {"target", "prims.svd.default"}}, nullptr);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnsupported);
    return error.what();
  }
  FAIL("the request did not fail");
  return "";
}

TEST_CASE("without an interpreter the message names the variable that gives one") {
  PythonWorker worker({.python = {}, .imports = {}});
  CHECK(refusal(worker).find("FUSEPROOF_PYTHON") != std::string::npos);
}

TEST_CASE("an interpreter that is not there is named") {
  PythonWorker worker({.python = "/nonexistent/python", .imports = {}});
  CHECK(refusal(worker).find("/nonexistent/python") != std::string::npos);
}

TEST_CASE("an interpreter without Fuseproof's package is said to need it, each time") {
  const Interpreter interpreter("exit 1");
  PythonWorker worker({.python = interpreter.path(), .imports = {}});
  for (int i = 0; i < 2; ++i) {
    const std::string message = refusal(worker);
    CHECK_MESSAGE(message.find("ended with status 1") != std::string::npos, message);
    CHECK_MESSAGE(message.find("must be installed for") != std::string::npos, message);
  }
}

TEST_CASE("a worker over its time limit is stopped") {
  const Interpreter interpreter("exec sleep 600");
  PythonWorker worker(
      {.python = interpreter.path(), .imports = {}, .time_limit = std::chrono::seconds(0)});
  CHECK(refusal(worker).find("was stopped after 0 s") != std::string::npos);
}

TEST_CASE("the interpreter is asked for the worker, the modules, and no current directory") {
  const Interpreter interpreter(
      R"(test "$PYTHONSAFEPATH" = 1 && test "$1 $2 $3" = "-m fuseproof._python_worker --channel" \
         && test "$5 $6 $7 $8" = "--import mine --import yours" && exit 42)");
  PythonWorker worker({.python = interpreter.path(), .imports = {"mine", "yours"}});
  CHECK(refusal(worker).find("ended with status 42") != std::string::npos);
}

}  // namespace
}  // namespace fuseproof
