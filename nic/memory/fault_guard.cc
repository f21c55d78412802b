// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/fault_guard.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "nic/memory/guarded_section.h"

#if defined(URNIC_HAS_GUARDED_SECTION)

#if defined(__x86_64__)
#include "nic/memory/guarded_access_x86_64.inc"
#else
#include "nic/memory/guarded_access_arm64.inc"
#endif

extern "C" {
// Where the section begins and ends; the linker gives it these names.
extern const char __start_urnic_guarded[] __attribute__((visibility("hidden")));
extern const char __stop_urnic_guarded[] __attribute__((visibility("hidden")));
extern const char urnic_after_fault[];
bool urnic_try_copy(std::byte* to, const std::byte* from, std::size_t size, std::size_t wide_from);
bool urnic_try_compare_exchange(std::uint64_t* number, std::uint64_t* expected, std::uint64_t desired);
bool urnic_try_fetch_add(std::uint64_t* number, std::uint64_t add, std::uint64_t* original);
bool urnic_try_store(std::uint64_t* number, std::uint64_t value);
// The C library's sigaction(), by the name that programs do not replace. UCX replaces the other one, and
// keeps all other handlers for SIGSEGV out.
int __sigaction(int signal, const struct sigaction* wanted, struct sigaction* before);
}

namespace urnic::nic {
namespace {

/// A signal and its handler before ours.
struct Previous {
  int signal;
  struct sigaction action {};
};
std::array previous{Previous{SIGSEGV}, Previous{SIGBUS}};

/// As the kernel would do it if we were not there.
void pass_on(int signal, siginfo_t* info, void* context) {
  Previous& before = previous[signal == SIGSEGV ? 0 : 1];
  struct sigaction& action = before.action;
  if ((action.sa_flags & SA_SIGINFO) != 0) return action.sa_sigaction(signal, info, context);
  const bool is_fault = info->si_code > 0;
  const bool is_ignored = action.sa_handler == SIG_IGN && !is_fault;  // faults cannot be ignored
  if (is_ignored) return;
  if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) return action.sa_handler(signal);
  struct sigaction end {};
  end.sa_handler = SIG_DFL;
  __sigaction(signal, &end, nullptr);
  // A fault happens again on return. What was sent has to be sent again.
  if (!is_fault) syscall(SYS_tgkill, getpid(), static_cast<pid_t>(syscall(SYS_gettid)), signal);
}

/// The address of the instruction that faulted.
auto& instruction_of(mcontext_t& machine) {
#if defined(__x86_64__)
  return machine.gregs[REG_RIP];
#else
  return machine.pc;
#endif
}

void on_fault(int signal, siginfo_t* info, void* context) {
  auto& instruction = instruction_of(static_cast<ucontext_t*>(context)->uc_mcontext);
  using Address = std::remove_reference_t<decltype(instruction)>;
  const auto begin = reinterpret_cast<Address>(__start_urnic_guarded);
  const auto end = reinterpret_cast<Address>(__stop_urnic_guarded);
  if (info->si_code > 0 && instruction >= begin && instruction < end) {
    instruction = reinterpret_cast<Address>(urnic_after_fault);
  } else {
    pass_on(signal, info, context);
  }
}

/// From which size on a copy is made with the widest registers.
std::size_t widest_from() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx")) return 256;
#endif
  return ~std::size_t{0};
}
const std::size_t wide_from = widest_from();

bool install() {
  for (Previous& before : previous) {
    // Known before it can be needed.
    __sigaction(before.signal, nullptr, &before.action);
    struct sigaction ours = before.action;
    // On the thread's own signal stack if it has one: Go demands it.
    ours.sa_flags = (ours.sa_flags & (SA_RESTART | SA_NODEFER)) | SA_SIGINFO | SA_ONSTACK;
    ours.sa_sigaction = on_fault;
    __sigaction(before.signal, &ours, nullptr);
  }
  return true;
}

}  // namespace

const bool kCatchesFaults = true;

void install_fault_guard() {
  [[maybe_unused]] static const bool is_installed = install();
}

bool try_copy(std::byte* to, const std::byte* from, std::size_t size) {
  return urnic_try_copy(to, from, size, wide_from);
}
bool try_compare_exchange(std::uint64_t* number, std::uint64_t& expected, std::uint64_t desired) {
  return urnic_try_compare_exchange(number, &expected, desired);
}
bool try_fetch_add(std::uint64_t* number, std::uint64_t add, std::uint64_t& original) {
  return urnic_try_fetch_add(number, add, &original);
}
bool try_store(std::uint64_t* number, std::uint64_t value) {
  return urnic_try_store(number, value);
}

}  // namespace urnic::nic

#else

namespace urnic::nic {

const bool kCatchesFaults = false;

void install_fault_guard() {}

bool try_copy(std::byte* to, const std::byte* from, std::size_t size) {
  if (size > 0) std::memcpy(to, from, size);
  return true;
}
bool try_compare_exchange(std::uint64_t* number, std::uint64_t& expected, std::uint64_t desired) {
  std::atomic_ref(*number).compare_exchange_strong(expected, desired);
  return true;
}
bool try_fetch_add(std::uint64_t* number, std::uint64_t add, std::uint64_t& original) {
  original = std::atomic_ref(*number).fetch_add(add);
  return true;
}
bool try_store(std::uint64_t* number, std::uint64_t value) {
  std::atomic_ref(*number).store(value);
  return true;
}

}  // namespace urnic::nic

#endif
