// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a forked child can and cannot do.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tests/support/sanitizers.h"
#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

struct ChildResult {
  int status = 0;
  std::string said;  ///< on stderr
};

/// Runs `body` in a child that must end within 10 seconds; it returns what the child exits with.
ChildResult in_child(const std::function<int()>& body) {
  int pipe_ends[2] = {};
  EXPECT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    _exit(body());
  }
  close(pipe_ends[1]);
  ChildResult result;
  char text[256];
  for (ssize_t count = 0; (count = read(pipe_ends[0], text, sizeof(text))) > 0;) {
    result.said.append(text, static_cast<std::size_t>(count));
  }
  close(pipe_ends[0]);
  waitpid(child, &result.status, 0);
  return result;
}

void expect_clean_exit(const ChildResult& result) {
  ASSERT_TRUE(WIFEXITED(result.status)) << "signal " << WTERMSIG(result.status);
  EXPECT_EQ(WEXITSTATUS(result.status), 0);
}

/// Whether an earlier test of this process opened the port: then there is a NIC thread.
bool port_is_open() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    if (std::getline(std::ifstream(thread.path() / "comm"), name) && name == "urnic") return true;
  }
  return false;
}

TEST(Fork, NeedsNoPreparation) {
  EXPECT_EQ(ibv_fork_init(), 0);
  EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

TEST(Fork, EveryVerbFailsInTheChildOnWhatTheParentOpened) {
  Pair pair;
  Buffer buffer(pair.pd(), 64);
  const ChildResult result = in_child([&] {
    ibv_wc completion{};
    ibv_qp_attr attributes{};
    ibv_qp_init_attr created = rc_attributes(pair.cq_a());
    int step = 1;
    if (ibv_poll_cq(pair.cq_a(), 1, &completion) >= 0) return step;
    ++step;
    if (post_receive(pair.a(), 1, {}) != EIO) return step;
    ++step;
    if (post_send(pair.a(), request(IBV_WR_SEND), {}) != EIO) return step;
    ++step;
    if (ibv_req_notify_cq(pair.cq_a(), 0) != EIO) return step;
    ++step;
    if (ibv_query_qp(pair.a(), &attributes, IBV_QP_STATE, &created) != EIO) return step;
    ++step;
    if (ibv_modify_qp(pair.a(), &attributes, IBV_QP_STATE) != EIO) return step;
    ++step;
    if (ibv_create_qp(pair.pd(), &created) != nullptr || errno != EIO) return step;
    ++step;
    if (ibv_alloc_pd(pair.context()) != nullptr || errno != EIO) return step;
    ++step;
    if (ibv_dereg_mr(buffer.mr()) != EIO) return step;
    ++step;
    if (ibv_destroy_qp(pair.a()) != EIO) return step;
    ++step;
    if (ibv_close_device(pair.context()) != EIO) return step;
    return 0;
  });
  expect_clean_exit(result);
  // Said once, and not by every verb.
  EXPECT_EQ(result.said.rfind("urnic: ", 0), 0u) << result.said;
  EXPECT_EQ(result.said.find('\n'), result.said.size() - 1) << result.said;
}

TEST(Fork, TheChildMayAskWhatTheDeviceIsAndHaveItsMemory) {
  const ContextPtr context = open_device();
  const ChildResult result = in_child([&] {
    ibv_device_attr_ex attributes{};
    ibv_port_attr port{};
    ibv_gid gid{};
    int step = 1;
    if (ibv_query_device_ex(context.get(), nullptr, &attributes) != 0 || attributes.max_dm_size == 0) {
      return step;
    }
    ++step;
    if (ibv_query_port(context.get(), 1, &port) != 0) return step;
    ++step;
    if (ibv_query_gid(context.get(), 1, kIpv4Gid, &gid) != 0) return step;
    ++step;
    ibv_alloc_dm_attr attr{.length = 64, .log_align_req = 0, .comp_mask = 0};
    ibv_dm* const dm = ibv_alloc_dm(context.get(), &attr);
    std::uint32_t number = 7;
    if (dm == nullptr || ibv_memcpy_to_dm(dm, 4, &number, sizeof(number)) != 0) return step;
    ++step;
    return ibv_free_dm(dm) == 0 ? 0 : step;
  });
  expect_clean_exit(result);
  EXPECT_EQ(result.said, "");
}

TEST(Fork, TheParentGoesOnAsIfNothingHadHappened) {
  Pair pair;
  expect_clean_exit(in_child([] { return 0; }));
  ASSERT_EQ(post_receive(pair.b(), 1, {}), 0);
  ASSERT_EQ(post_send(pair.a(), request(IBV_WR_SEND), {}), 0);
  EXPECT_EQ(next_completion(pair.cq_b()).status, IBV_WC_SUCCESS);
}

/// What a program does from the beginning: everything, in one function.
int use_a_device() {
  Pair pair;
  if (post_receive(pair.b(), 1, {}) != 0 || post_send(pair.a(), request(IBV_WR_SEND), {}) != 0) return 1;
  return next_completion(pair.cq_b()).status == IBV_WC_SUCCESS && !testing::Test::HasFailure() ? 0 : 2;
}

TEST(Fork, TheChildOfAnOpenPortMayStartOver) {
  Pair pair;
  expect_clean_exit(in_child([&] {
    const int used = use_a_device();
    if (used != 0) return used;
    return ibv_alloc_pd(pair.context()) == nullptr && errno == EIO ? 0 : 3;
  }));
}

TEST(Fork, TheChildMayStartOverWhenThePortWasNotOpen) {
  if (port_is_open()) GTEST_SKIP() << "needs a process of its own, as ctest gives it";
  const ContextPtr context = open_device();
  // Finding out which GIDs are any good does not open it.
  const PdPtr pd(ibv_alloc_pd(context.get()));
  ibv_ah_attr address = own_address(context.get());
  const AhPtr ah(ibv_create_ah(pd.get(), &address));
  ASSERT_NE(ah, nullptr);
  const ChildResult result = in_child([&] {
    if (ibv_alloc_pd(context.get()) != nullptr || errno != EIO) return 10;
    return use_a_device();
  });
  expect_clean_exit(result);
}

TEST(Fork, TheChildMayBeTheOneThatUsesTheDevice) {
  expect_clean_exit(in_child(use_a_device));
}

// It has no peer: there is nothing to wait for.
TEST(Exit, EndsSoonWhateverTheProgramHolds) {
  if (port_is_open()) GTEST_SKIP() << "needs a process of its own, as ctest gives it";
  const auto begin = std::chrono::steady_clock::now();
  const ChildResult result = in_child([]() -> int {
    const auto* const leaked = new Pair;
    static_cast<void>(leaked);
    std::exit(0);  // destructors and all
  });
  expect_clean_exit(result);
  EXPECT_EQ(result.said, "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Fork, TheChildMayExitWithoutCleaningUp) {
  if (kHasAddressSanitizer) {
    GTEST_SKIP() << "at exit LeakSanitizer waits for its allocator's lock, which the NIC's thread may have "
                    "held at the fork";
  }
  Pair pair;
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    std::exit(0);  // destructors and all
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect_clean_exit({.status = status, .said = ""});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace urnic::test
