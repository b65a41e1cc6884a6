#include "kernels/inductor_cpp/compiler.h"

#include <doctest/doctest.h>
#include <signal.h>

#include "base/search_path.h"
#include "kernels/kernels_fixture.h"

using namespace fuseproof;
using namespace fuseproof::test;

TEST_CASE("the first error line is found among notes and warnings") {
  CHECK(
      first_error("In file included from a.cpp:1:\nb.h:3: warning: hm\nb.h:4:5: error: no\nb.h:5: "
                  "error: more\n") == "b.h:4:5: error: no");
  CHECK(first_error("a.cpp:1:10: fatal error: x.h: No such file or directory\n") ==
        "a.cpp:1:10: fatal error: x.h: No such file or directory");
  CHECK(first_error("/usr/bin/ld: cannot find -lgomp\ncollect2: error: ld returned 1") ==
        "/usr/bin/ld: cannot find -lgomp");
  CHECK(first_error("something else\n") == "something else");
  CHECK(first_error("").empty());
}

TEST_CASE("a command line can be pasted into a shell") {
  CHECK(command_line("/usr/bin/g++", {"-O3", "-DA=1.5", "a b.cpp", "it's", "$x", ""}) ==
        R"(/usr/bin/g++ -O3 -DA=1.5 'a b.cpp' 'it'\''s' '$x' '')");
}

TEST_CASE("output, status and the time limit of a program are kept") {
  const Path shell = find_program("sh").value();
  const CompilerRun good =
      run_compiler(shell, {"-c", "echo out; echo err >&2"}, std::chrono::seconds(30));
  CHECK(good.status.succeeded());
  CHECK(good.output == "out\nerr\n");
  CHECK(run_compiler(shell, {"-c", "exit 3"}, std::chrono::seconds(30)).status.code == 3);
  const CompilerRun slow = run_compiler(shell, {"-c", "exec sleep 600"}, std::chrono::seconds(1));
  CHECK(slow.timed_out);
  const CompilerRun loud = run_compiler(shell, {"-c", "head -c 3000000 /dev/zero | tr '\\0' x"},
                                        std::chrono::seconds(30));
  CHECK(loud.status.succeeded());
  CHECK(loud.output.size() == 256 * 1024);
}

TEST_CASE("a compiler that ignores the request to go is killed") {
  const Path shell = find_program("sh").value();
  const CompilerRun deaf =
      run_compiler(shell, {"-c", "trap '' TERM; sleep 1000; sleep 1000"}, std::chrono::seconds(1));
  CHECK(deaf.timed_out);
  CHECK(deaf.status.signal == SIGKILL);
}
