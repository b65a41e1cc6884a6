// fuseproof-runner: the zygote of the sandbox (src/sandbox/sandbox.h). Started by Fuseproof itself:
//   fuseproof-runner --channel FD [--torch-lib FOLDER]
#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "sandbox/runner/zygote.h"

namespace fuseproof {
namespace {

struct Options {
  int channel_fd = -1;
  std::string torch_lib;
};

std::optional<Options> parse(std::span<char*> arguments) {
  Options options;
  for (std::size_t i = 1; i + 1 < arguments.size(); i += 2) {
    const std::string_view name = arguments[i];
    const std::string_view value = arguments[i + 1];
    if (name == "--torch-lib") {
      options.torch_lib = value;
    } else if (name == "--channel") {
      std::from_chars(value.data(), value.data() + value.size(), options.channel_fd);
    } else {
      return std::nullopt;
    }
  }
  if (options.channel_fd < 0 || arguments.size() % 2 == 0) return std::nullopt;
  return options;
}

// Lazily and globally: a kernel object finds Sleef and OpenMP here, and no more than it calls.
void open_torch(const std::string& folder) {
  if (folder.empty()) return;
  const std::string library = folder + "/libtorch_cpu.so";
  if (::dlopen(library.c_str(), RTLD_LAZY | RTLD_GLOBAL) != nullptr) return;
  throw Error(ErrorKind::kBadInput,
              fmt::format("cannot open {}: {}. Is torch installed there?", library, ::dlerror()));
}

// Linux faults the first use of AMX's tiles (SIGILL) in a process that has not asked for them;
// torch asks in the program. Children inherit the permission. A processor without tiles refuses,
// and has no kernels that use them.
void ask_for_amx_tiles() {
  constexpr long kArchReqXcompPerm = 0x1023;  // ARCH_REQ_XCOMP_PERM, asm/prctl.h
  constexpr long kTileData = 18;              // XFEATURE_XTILEDATA
  ::syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData);
}

int run(const Options& options) {
  Channel channel(options.channel_fd);
  ask_for_amx_tiles();
  try {
    open_torch(options.torch_lib);
  } catch (const Error& error) {
    channel.send(
        {{"error",
          {{"kind", error_kind_info(error.kind()).name}, {"message", std::string(error.what())}}}});
    return 1;
  }
  channel.send({{"ready", true}});
  Zygote(std::move(channel)).serve();
  return 0;
}

}  // namespace
}  // namespace fuseproof

int main(int argc, char** argv) {
  const auto options = fuseproof::parse({argv, static_cast<std::size_t>(argc)});
  if (!options) {
    std::fputs("fuseproof-runner is started by fuseproof, not by hand\n", stderr);
    return 2;
  }
  // Ctrl-C in a terminal reaches the whole process group; the client decides what it means.
  ::signal(SIGINT, SIG_IGN);
  try {
    return fuseproof::run(*options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuseproof-runner: %s\n", error.what());
    return 3;
  }
}
