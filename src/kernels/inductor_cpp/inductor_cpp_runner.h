// Runs kernels that Inductor generated as C++: the recorded object where it can be trusted to be
// what ran, a rebuilt one else, in the sandbox.
//
//   kernel.cpp as recorded, kernel.so as recorded, same CPU    the recorded object
//   kernel.cpp edited                                          rebuilt, announced in the message
//   recorded on another CPU                                    rebuilt, announced in the message
//   no object: the program could not build it                  rebuilt: the compiler is asked again
//   kernel.so absent                                           rebuilt, announced in the message
//
// What does not build then is a finding, unless it did build on the other CPU: Error(kUnsupported).
//
//   kernel.so damaged, kernel.cpp absent                       Error
#pragma once

#include <map>
#include <string>

#include "base/files.h"
#include "bundle/runners.h"
#include "kernels/inductor_cpp/builder.h"
#include "sandbox/sandbox.h"

namespace fuseproof {

struct InductorCppOptions {
  Path runner;             // the executable fuseproof-runner
  BuilderOptions builder;  // torch at hand, this machine's CPU, cache
  std::string
      recorded_cpu;  // of the machine where the run was recorded, in the form of builder.cpu
};

// For one thread.
class InductorCppRunner : public KernelRunner {
 public:
  InductorCppRunner(FileSystem& files, InductorCppOptions options);

  void start() override;
  KernelRun prepare(const SiteBundle& site) override;
  // Prepares the site first if that was not done; what did not build is not run. The arena's bands
  // are filled before the call; damage to them is among the guard hits, as writes.
  KernelRun run(const SiteBundle& site, const CallRecord& call, Arena& arena,
                const RunLimits& limits) override;

 private:
  struct Prepared {
    KernelRun run;
    Path object;  // empty: did not build
  };

  Prepared prepare_anew(const SiteBundle& site);
  // Whose fault it is when the source does not build.
  enum class Blame : std::uint8_t { kKernel, kMachine };
  Prepared rebuild(const SiteBundle& site, std::string reason, Blame blame);

  FileSystem& files_;
  InductorCppOptions options_;
  InductorCppBuilder builder_;
  Sandbox sandbox_;
  std::map<Path, Prepared> prepared_;  // by the site's folder
};

}  // namespace fuseproof
