#include "sandbox/runner/guard_pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"

#if !defined(__x86_64__)
#error "guard pages need to know a read from a write at a fault: written for x86-64 alone"
#endif

namespace fuseproof {
namespace {

constexpr std::uintptr_t kPageBytes = 4096;
// AVX-512 state alone takes 2.7 kB of a signal frame, AMX 8 kB more.
constexpr std::size_t kHandlerStackBytes = 64 * 1024;

struct Guards {
  std::byte* arena_base;
  std::vector<std::byte*> pages;
  ResultBlock* result;
};

// A signal handler has no argument of its own. Set once, before the handler is installed.
const Guards* g_guards = nullptr;

bool is_guard_page(const std::byte* page) {
  for (const std::byte* guard : g_guards->pages) {
    if (guard == page) return true;
  }
  return false;
}

void record(const std::byte* address, bool is_write) {
  ResultBlock& result = *g_guards->result;
  const std::uint32_t index = result.guard_record_count.fetch_add(1);
  if (index >= result.guard_records.size()) return;
  result.guard_records[index] = {static_cast<std::uint64_t>(address - g_guards->arena_base),
                                 is_write};
}

void die_as_before(int signal_number, const siginfo_t& info) {
  if (!g_guards->result->has_fault_address.exchange(true)) {
    g_guards->result->fault_address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  }
  ::signal(signal_number, SIG_DFL);
  // The faulting instruction runs again and ends the process; a signal that was sent does not.
  if (info.si_code <= 0) ::raise(signal_number);
}

void on_fault(int signal_number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  auto* const address = static_cast<std::byte*>(info->si_addr);
  std::byte* const page = address - reinterpret_cast<std::uintptr_t>(address) % kPageBytes;
  if (info->si_code <= 0 || !is_guard_page(page)) {
    die_as_before(signal_number, *info);
    errno = saved_errno;
    return;
  }
  // Bit 1 of the page-fault error code: the access was a write.
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  const bool is_write = (registers[REG_ERR] & 2) != 0;
  record(address, is_write);
  ::mprotect(page, kPageBytes, is_write ? PROT_READ | PROT_WRITE : PROT_READ);
  errno = saved_errno;
}

void protect(std::byte* page) {
  if (::mprotect(page, kPageBytes, PROT_NONE) == 0) return;
  throw Error(ErrorKind::kIo, fmt::format("cannot protect a guard page: {}",
                                          std::generic_category().message(errno)));
}

void install_handler() {
  static std::byte handler_stack[kHandlerStackBytes];
  stack_t stack = {};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof(handler_stack);
  ::sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

void install_guard_pages(const Arena& arena, ResultBlock& result) {
  static Guards guards;
  guards = {arena.base(), {}, &result};
  for (const ArenaSlot& slot : arena.slots()) {
    guards.pages.push_back(guards.arena_base + slot.begin);
    guards.pages.push_back(guards.arena_base + slot.end - kPageBytes);
  }
  g_guards = &guards;
  install_handler();
  for (std::byte* page : guards.pages) protect(page);
}

}  // namespace fuseproof
