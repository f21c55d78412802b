#include "nic/memory/fault_guard.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define URNIC_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define URNIC_SANITIZED
#endif

#if defined(__x86_64__) && !defined(URNIC_SANITIZED)

// Between urnic_guarded and urnic_guarded_end an instruction may fault; the handler then goes on at
// urnic_guarded_end, as the kernel does with its exception table. That works because nothing there touches
// the stack or a register that a function has to keep. So an access needs no preparation, and no thread-local
// variable says what to do.
//
// The fourth argument of urnic_try_copy is the size from which AVX is used, at least 256.
asm(R"(
  .pushsection .text
  .p2align 4
  .globl urnic_guarded, urnic_guarded_end
  .hidden urnic_guarded, urnic_guarded_end
  .globl urnic_try_copy, urnic_try_compare_exchange, urnic_try_fetch_add, urnic_try_store
  .hidden urnic_try_copy, urnic_try_compare_exchange, urnic_try_fetch_add, urnic_try_store
  .type urnic_try_copy, @function
  .type urnic_try_compare_exchange, @function
  .type urnic_try_fetch_add, @function
  .type urnic_try_store, @function
  .cfi_startproc

urnic_guarded:
urnic_try_copy:
  cmpq %rcx, %rdx
  jae 7f
  cmpq $16, %rdx
  jb 4f
  # 16 bytes at a time; the last 16, which may overlap those before, at the end.
  movups -16(%rsi,%rdx), %xmm4
  leaq -16(%rdi,%rdx), %r8
  cmpq $64, %rdx
  jbe 2f
1:
  movups (%rsi), %xmm0
  movups 16(%rsi), %xmm1
  movups 32(%rsi), %xmm2
  movups 48(%rsi), %xmm3
  movups %xmm0, (%rdi)
  movups %xmm1, 16(%rdi)
  movups %xmm2, 32(%rdi)
  movups %xmm3, 48(%rdi)
  addq $64, %rsi
  addq $64, %rdi
  subq $64, %rdx
  cmpq $64, %rdx
  ja 1b
2:
  cmpq $16, %rdx
  jbe 3f
  movups (%rsi), %xmm0
  movups %xmm0, (%rdi)
  addq $16, %rsi
  addq $16, %rdi
  subq $16, %rdx
  jmp 2b
3:
  movups %xmm4, (%r8)
  jmp 8f
4:
  # 8 to 15, 4 to 7, 2 and 3 bytes: the first and the last 8, 4 or 2.
  cmpq $8, %rdx
  jb 5f
  movq (%rsi), %rax
  movq -8(%rsi,%rdx), %rcx
  movq %rax, (%rdi)
  je 8f
  movq %rcx, -8(%rdi,%rdx)
  jmp 8f
5:
  cmpq $4, %rdx
  jb 6f
  movl (%rsi), %eax
  movl -4(%rsi,%rdx), %ecx
  movl %eax, (%rdi)
  je 8f
  movl %ecx, -4(%rdi,%rdx)
  jmp 8f
6:
  testq %rdx, %rdx
  jz 8f
  movzbl -1(%rsi,%rdx), %ecx
  cmpq $2, %rdx
  jb 9f
  movzwl (%rsi), %eax
  movw %ax, (%rdi)
  je 8f
9:
  movb %cl, -1(%rdi,%rdx)
  jmp 8f
7:
  # 128 bytes at a time, stored at aligned addresses; before that the first 32, at the end the last 128.
  leaq -128(%rsi,%rdx), %r9
  leaq -128(%rdi,%rdx), %r8
  vmovups (%rsi), %ymm0
  vmovups %ymm0, (%rdi)
  movq %rdi, %rcx
  orq $31, %rcx
  incq %rcx
  subq %rdi, %rcx
  addq %rcx, %rsi
  addq %rcx, %rdi
1:
  vmovups (%rsi), %ymm0
  vmovups 32(%rsi), %ymm1
  vmovups 64(%rsi), %ymm2
  vmovups 96(%rsi), %ymm3
  vmovaps %ymm0, (%rdi)
  vmovaps %ymm1, 32(%rdi)
  vmovaps %ymm2, 64(%rdi)
  vmovaps %ymm3, 96(%rdi)
  addq $128, %rsi
  addq $128, %rdi
  cmpq %r8, %rdi
  jb 1b
  vmovups (%r9), %ymm0
  vmovups 32(%r9), %ymm1
  vmovups 64(%r9), %ymm2
  vmovups 96(%r9), %ymm3
  vmovups %ymm0, (%r8)
  vmovups %ymm1, 32(%r8)
  vmovups %ymm2, 64(%r8)
  vmovups %ymm3, 96(%r8)
  vzeroupper
8:
  movl $1, %eax
  ret

  # number, expected, desired
urnic_try_compare_exchange:
  movq (%rsi), %rax
  lock cmpxchgq %rdx, (%rdi)
  movq %rax, (%rsi)
  movl $1, %eax
  ret

  # number, add, original
urnic_try_fetch_add:
  lock xaddq %rsi, (%rdi)
  movq %rsi, (%rdx)
  movl $1, %eax
  ret

  # number, value
urnic_try_store:
  xchgq %rsi, (%rdi)
  movl $1, %eax
  ret

urnic_guarded_end:
  xorl %eax, %eax
  ret
  .cfi_endproc
  .popsection
)");

extern "C" {
extern const char urnic_guarded[];
extern const char urnic_guarded_end[];
bool urnic_try_copy(std::byte* to, const std::byte* from, std::size_t size, std::size_t use_avx_from);
bool urnic_try_compare_exchange(std::uint64_t* number, std::uint64_t* expected, std::uint64_t desired);
bool urnic_try_fetch_add(std::uint64_t* number, std::uint64_t add, std::uint64_t* original);
bool urnic_try_store(std::uint64_t* number, std::uint64_t value);
// The C library's sigaction(), by the name that programs do not replace. UCX replaces the other one, and
// keeps all other handlers for SIGSEGV out.
int __sigaction(int signal, const struct sigaction* wanted, struct sigaction* before);
}

namespace urnic::nic {
namespace {

/// A signal and who handled it before us.
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

void on_fault(int signal, siginfo_t* info, void* context) {
  greg_t& instruction = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const auto begin = reinterpret_cast<greg_t>(urnic_guarded);
  const auto end = reinterpret_cast<greg_t>(urnic_guarded_end);
  if (info->si_code > 0 && instruction >= begin && instruction < end) {
    instruction = end;
  } else {
    pass_on(signal, info, context);
  }
}

const std::size_t use_avx_from = __builtin_cpu_supports("avx") ? 256 : ~std::size_t{0};

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
  return urnic_try_copy(to, from, size, use_avx_from);
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
