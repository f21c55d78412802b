// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/fault_guard.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace urnic::nic {
namespace {

std::size_t page_size() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Two pages of which the second is not there.
class FaultGuardTest : public testing::Test {
 protected:
  FaultGuardTest()
      : memory_(static_cast<std::byte*>(
            mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    munmap(memory_ + page_, page_);
  }
  ~FaultGuardTest() override { munmap(memory_, page_); }
  void SetUp() override {
    if (!kCatchesFaults) GTEST_SKIP() << "this build does not catch faults";
    install_fault_guard();
  }

  std::size_t page_ = page_size();
  std::byte* memory_;
};

TEST(TryCopy, CopiesEveryLengthAtEveryAlignmentAndNothingElse) {
  constexpr std::size_t kLongest = 700;
  std::vector<std::byte> from(kLongest + 64);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 % 251 + 1);
  for (std::size_t size = 0; size <= kLongest; ++size) {
    const std::size_t skip = size % 37;
    const std::size_t to_skip = size * 5 % 41;
    std::vector<std::byte> to(size + 100);
    ASSERT_TRUE(try_copy(to.data() + to_skip, from.data() + skip, size));
    ASSERT_EQ(std::memcmp(to.data() + to_skip, from.data() + skip, size), 0) << size;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const bool is_outside = i < to_skip || i >= to_skip + size;
      ASSERT_EQ(to[i] == std::byte{0}, is_outside) << size << " at " << i;
    }
  }
}

TEST(TryCopy, CopiesLongOnesAtEveryAlignment) {
  std::vector<std::byte> from(9000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 11 % 253);
  for (std::size_t skip = 0; skip < 64; ++skip) {
    std::vector<std::byte> to(from.size() + 128);
    const std::size_t size = from.size() - 3 * skip;
    ASSERT_TRUE(try_copy(to.data() + skip, from.data() + 2 * skip, size));
    ASSERT_EQ(std::memcmp(to.data() + skip, from.data() + 2 * skip, size), 0) << skip;
    ASSERT_EQ(to[skip + size], std::byte{0}) << skip;
  }
}

TEST_F(FaultGuardTest, FailsAtAPageThatIsNotThere) {
  for (const std::size_t size : {1u, 2u, 3u, 4u, 7u, 8u, 9u, 15u, 16u, 40u, 64u, 65u, 255u, 256u, 4000u}) {
    std::vector<std::byte> ours(size, std::byte{5});
    for (const std::size_t there : {std::size_t{0}, size / 2, size - 1}) {
      std::byte* const partly = memory_ + page_ - there;
      EXPECT_FALSE(try_copy(ours.data(), partly, size)) << size << ", " << there;
      EXPECT_FALSE(try_copy(partly, ours.data(), size)) << size << ", " << there;
    }
    std::byte* const wholly = memory_ + page_ - size;
    EXPECT_TRUE(try_copy(wholly, ours.data(), size));
    EXPECT_TRUE(try_copy(ours.data(), wholly, size));
  }
}

TEST_F(FaultGuardTest, FailsWhereNoProcessHasMemory) {
  std::array<std::byte, 8> ours{};
  auto* const not_canonical = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 62);
  EXPECT_FALSE(try_copy(ours.data(), nullptr, ours.size()));
  EXPECT_FALSE(try_copy(ours.data(), not_canonical, ours.size()));
  EXPECT_FALSE(try_copy(not_canonical, ours.data(), ours.size()));
}

TEST_F(FaultGuardTest, FailsToWriteWhatIsReadOnly) {
  mprotect(memory_, page_, PROT_READ);
  std::array<std::byte, 8> ours{};
  EXPECT_TRUE(try_copy(ours.data(), memory_, ours.size()));
  EXPECT_FALSE(try_copy(memory_, ours.data(), ours.size()));
}

// SIGBUS and not SIGSEGV.
TEST_F(FaultGuardTest, FailsBehindTheEndOfAFile) {
  const int file = memfd_create("short", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(2 * page_)), 0);
  auto* const mapped =
      static_cast<std::byte*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  std::array<std::byte, 8> ours{};
  EXPECT_TRUE(try_copy(mapped + page_, ours.data(), ours.size()));
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(page_)), 0);
  EXPECT_FALSE(try_copy(mapped + page_, ours.data(), ours.size()));
  EXPECT_FALSE(try_copy(ours.data(), mapped + page_, ours.size()));
  munmap(mapped, 2 * page_);
  close(file);
}

TEST_F(FaultGuardTest, DoesAtomicOperationsAndFailsThemWherePagesAreNotThere) {
  auto* const there = reinterpret_cast<std::uint64_t*>(memory_);
  auto* const gone = reinterpret_cast<std::uint64_t*>(memory_ + page_);
  std::uint64_t original = 1;
  EXPECT_TRUE(try_store(there, 40));
  EXPECT_TRUE(try_fetch_add(there, 2, original));
  EXPECT_EQ(original, 40u);
  std::uint64_t expected = 1;
  EXPECT_TRUE(try_compare_exchange(there, expected, 9));
  EXPECT_EQ(expected, 42u);
  EXPECT_EQ(*there, 42u);
  EXPECT_TRUE(try_compare_exchange(there, expected, 9));
  EXPECT_EQ(expected, 42u);
  EXPECT_EQ(*there, 9u);

  EXPECT_FALSE(try_store(gone, 1));
  EXPECT_FALSE(try_fetch_add(gone, 1, original));
  EXPECT_FALSE(try_compare_exchange(gone, expected, 1));
}

TEST_F(FaultGuardTest, HoldsWhileAnotherThreadTakesPagesAndBringsThemBack) {
  constexpr int kRounds = 2000;
  std::atomic<bool> is_over{false};
  std::thread program([&] {
    for (int i = 0; i < kRounds; ++i) {
      munmap(memory_, page_);
      mmap(memory_, page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    is_over = true;
  });
  std::vector<std::byte> ours(page_);
  while (!is_over) {
    static_cast<void>(try_copy(memory_, ours.data(), ours.size()));
    static_cast<void>(try_copy(ours.data(), memory_, ours.size()));
  }
  program.join();
  EXPECT_TRUE(try_copy(memory_, ours.data(), ours.size()));
}

// --- What is not ours goes to who was there before ---

void touch_nothing() {
  volatile char* volatile nowhere = nullptr;
  *nowhere = 1;
}
constexpr int kOfTheProgram = 23;

void end_like_the_program(int) {
  _exit(kOfTheProgram);
}
void end_if_told_where(int, siginfo_t* info, void* context) {
  _exit(info->si_addr == nullptr && context != nullptr ? kOfTheProgram : 1);
}

/// In a process of its own, where no guard is installed yet.
class FaultGuardDeathTest : public testing::Test {
 protected:
  FaultGuardDeathTest() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
  void SetUp() override {
    if (!kCatchesFaults) GTEST_SKIP() << "this build does not catch faults";
  }
};

TEST_F(FaultGuardDeathTest, LeavesTheProgramsFaultsToTheKernel) {
  EXPECT_EXIT((install_fault_guard(), touch_nothing()), testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(FaultGuardDeathTest, LeavesSignalsThatAreSentToTheKernel) {
  EXPECT_EXIT((install_fault_guard(), raise(SIGBUS)), testing::KilledBySignal(SIGBUS), "");
}

TEST_F(FaultGuardDeathTest, LeavesIgnoredSignalsThatAreSentAlone) {
  EXPECT_EXIT((signal(SIGSEGV, SIG_IGN), install_fault_guard(), raise(SIGSEGV), _exit(kOfTheProgram)),
              testing::ExitedWithCode(kOfTheProgram), "");
}

TEST_F(FaultGuardDeathTest, CallsTheProgramsHandler) {
  EXPECT_EXIT((signal(SIGSEGV, end_like_the_program), install_fault_guard(), touch_nothing()),
              testing::ExitedWithCode(kOfTheProgram), "");
}

TEST_F(FaultGuardDeathTest, CallsTheProgramsHandlerWithAllItAsksFor) {
  const auto run = [] {
    struct sigaction action {};
    action.sa_sigaction = end_if_told_where;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    install_fault_guard();
    touch_nothing();
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(kOfTheProgram), "");
}

struct sigaction guard_action;

void call_guard(int number, siginfo_t* info, void* context) {
  guard_action.sa_sigaction(number, info, context);
}

TEST_F(FaultGuardDeathTest, IsCalledByAHandlerThatPassesOn) {
  const auto run = [] {
    install_fault_guard();
    struct sigaction action {};
    action.sa_sigaction = call_guard;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &guard_action);
    std::byte ours{};
    _exit(try_copy(&ours, nullptr, 1) ? 1 : kOfTheProgram);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(kOfTheProgram), "");
}

}  // namespace
}  // namespace urnic::nic
