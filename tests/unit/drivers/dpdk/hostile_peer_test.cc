// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Backs that do to a front's memory what they like.
#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/dpdk/vhost_message.h"
#include "tests/unit/drivers/dpdk/hand_made_back.h"
#include "tests/unit/drivers/dpdk/process.h"
#include "tests/unit/drivers/dpdk/traffic.h"

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A front that sends and receives for a while, and tells "open" first.
Process::Body busy_front(const std::string& path) {
  return caught([path](const Process::Parent& parent) -> std::string {
    const auto port = open(front_of(path));
    parent.tell("open");
    const auto frame = make_frame(kMaxFrame, 1);
    std::array<nic::ReceivedFrame, 64> frames;
    const auto end = Clock::now() + 3s;
    unsigned sum = 0;
    while (Clock::now() < end) {
      for (int i = 0; i < 16 && !port->reserve().empty(); ++i) {
        std::copy(frame.begin(), frame.end(), port->reserve().begin());
        port->commit(frame.size());
      }
      port->flush();
      const std::size_t count = port->receive(frames);
      for (const auto& one : std::span(frames).first(count)) {
        if (one.size() > port->max_frame_bytes()) return "a frame is too long";
        for (const std::byte byte : one) sum += std::to_integer<unsigned>(byte);
      }
      if (port->arm()) port->disarm();
      port->is_drained();
    }
    parent.tell(fmt::format("sum {}", sum));
    return "";
  });
}

class HostilePeer : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("wire.sock");
};

// What `body` returns in a child that is another user's, an exit code; -1 when it ends otherwise.
int as_another_user(const std::function<int()>& body) {
  constexpr uid_t kNobody = 65534;
  const pid_t child = fork();
  if (child == 0) _exit(setresuid(kNobody, kNobody, kNobody) == 0 ? body() : 100);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(HostilePeer, OfAnotherUserMayNotConnect) {
  Process front(echo(front_of(path_)));
  ASSERT_TRUE(front.says("open"));
  struct stat status {};
  ASSERT_EQ(lstat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(HostilePeer, OfAnotherUserIsToldNothingByAFront) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  Process front(echo(front_of(path_)));
  ASSERT_TRUE(front.says("open"));
  // As if the files' permissions had failed.
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  EXPECT_EQ(as_another_user([this] { return HandMadeBack(path_).shake_hands() ? 1 : 0; }), 0);
}

TEST_F(HostilePeer, OfAnotherUserIsNotAnsweredByABack) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  // Root may be every user's peer, so the back is a third one.
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  const int answered = [this] {
    Process back(caught([this](const Process::Parent& parent) -> std::string {
      if (setresuid(65533, 65533, 65533) != 0) return "cannot be another user";
      unsetenv("XDG_RUNTIME_DIR");
      const auto port = open(back_of(path_));
      parent.tell("open");
      while (true) pause();
    }));
    if (!back.says("open")) return -1;
    return as_another_user([this] {
      const Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
      if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return 2;
      if (chmod(path_.c_str(), 0666) != 0 || listen(listener.get(), 8) != 0) return 3;
      for (int calls = 0; calls < 3; ++calls) {  // it tries again: each time it is to leave
        const Descriptor back_of_other(accept(listener.get(), nullptr, nullptr));
        vhost::send(back_of_other.get(), vhost::Request::kGetFeatures);
        if (vhost::receive(back_of_other.get())) return 1;
      }
      return 0;
    });
  }();
  EXPECT_EQ(answered, 0);
}

TEST_F(HostilePeer, CannotKeepAFrontOutOfAFolderThatIsOpenToAll) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 01777), 0);
  const Descriptor folder(::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(folder.get(), LOCK_EX), 0);
  Process front(caught([this](const Process::Parent&) { return error_of_opening(front_of(path_)); }));
  EXPECT_EQ(front.result(), "");
}

TEST_F(HostilePeer, SeesRingsAndFrameBuffersOfAFrontAndNothingElse) {
  Process front(echo(front_of(path_)));
  ASSERT_TRUE(front.says("open"));
  HandMadeBack back(path_);
  ASSERT_TRUE(back.shake_hands());
  ASSERT_EQ(back.lent().size(), 1u);
  const std::span<std::byte> lent = back.lent()[0];
  EXPECT_LT(lent.size(), 16u << 20);
  const std::string_view text(reinterpret_cast<const char*>(lent.data()), lent.size());
  // What the front's buffer pool is called stands in its heap.
  EXPECT_EQ(text.find("net_virtio_user"), std::string_view::npos);
}

TEST_F(HostilePeer, CannotCutTheMemoryOfAFront) {
  Process front(echo(front_of(path_)));
  ASSERT_TRUE(front.says("open"));
  HandMadeBack back(path_);
  ASSERT_TRUE(back.shake_hands());
  EXPECT_NE(ftruncate(back.files()[0].get(), 0), 0);
}

TEST_F(HostilePeer, ThatWritesOverEverythingItIsLentEndsTheWireAndNotTheFront) {
  Process front(busy_front(path_));
  ASSERT_TRUE(front.says("open"));
  HandMadeBack back(path_);
  ASSERT_TRUE(back.shake_hands());
  std::mt19937_64 random(1);
  const auto end = Clock::now() + 2s;
  while (Clock::now() < end) {
    for (const std::span<std::byte> lent : back.lent()) {
      // The rings are near the start or anywhere: all of it, and the first pages more often.
      const std::size_t most =
          random() % 4 == 0 ? lent.size() : std::min<std::size_t>(lent.size(), 256 << 10);
      for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t drawn = random();
        const std::uint16_t value = drawn % 3 == 0 ? 0 : static_cast<std::uint16_t>(drawn >> 16);
        std::memcpy(lent.data() + (drawn >> 24) % (most / 2) * 2, &value, sizeof(value));
      }
    }
  }
  EXPECT_EQ(front.result(), "");
}

// All ones: a ring that is used up to its last index, with frames that span more buffers than there are.
TEST_F(HostilePeer, ThatClaimsFramesWithoutEndEndsTheWireAndNotTheFront) {
  Process front(busy_front(path_));
  ASSERT_TRUE(front.says("open"));
  HandMadeBack back(path_);
  ASSERT_TRUE(back.shake_hands());
  const auto end = Clock::now() + 2s;
  while (Clock::now() < end) {
    for (const std::span<std::byte> lent : back.lent()) std::memset(lent.data(), 0xff, lent.size());
  }
  EXPECT_EQ(front.result(), "");
}

}  // namespace
}  // namespace urnic::drivers
