// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A NIC with direct links, and a process that greets it with lies.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drivers/direct/greeting.h"
#include "drivers/direct/ring_memory.h"
#include "tests/unit/drivers/light/direct_nic.h"

namespace urnic::drivers {
namespace {

using namespace test;

class Liar {
 public:
  Liar(const Folder& folder, const Mac& to)
      : socket_(std::move(connect_for_link(folder.socket_of(to)).value())) {}

  RingMemory memory = std::move(RingMemory::create(kGeometry.bytes()).value());
  Hello hello{.nonce = 5, .geometry = kGeometry, .from = kA, .to = kB};

  bool say_hello() { return say_hello(memory.file()); }
  bool say_hello(int file) { return send_message(socket_.get(), std::as_bytes(std::span(&hello, 1)), file); }
  bool is_left() {
    pollfd end{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    poll(&end, 1, 10'000);
    char byte;
    return recv(socket_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) <= 0 && errno != EAGAIN;
  }
  int socket() const { return socket_.get(); }

  static constexpr RingGeometry kGeometry{.slots = 8, .max_frame_bytes = 500};

 private:
  Descriptor socket_;
};

class LyingPeer : public DirectPortTest {
 protected:
  /// Whether B has left who said that, and still makes links.
  void expect_left(Liar& liar) {
    errno = 0;
    EXPECT_TRUE(liar.is_left());
    Nic a(folder, kA);
    link(a, b);
  }

  Nic b{folder, kB};
};

TEST_F(LyingPeer, IsLeftWhenItsGreetingIsWrong) {
  const auto lies = std::vector<std::function<void(Hello&)>>{
      [](Hello& hello) { hello.magic = 1; },
      [](Hello& hello) { hello.version = 99; },
      [](Hello& hello) { hello.to = kA; },
      [](Hello& hello) { hello.from = kB; },
      [](Hello& hello) { hello.geometry.slots = 1u << 31; },
      [](Hello& hello) { hello.geometry.slots = 16; },
      [](Hello& hello) { hello.geometry.max_frame_bytes = ~0u; },
  };
  for (const auto& lie : lies) {
    Liar liar(folder, kB);
    lie(liar.hello);
    liar.say_hello();
    errno = 0;
    EXPECT_TRUE(liar.is_left());
  }
  Liar last(folder, kB);
  last.hello.magic = 0;
  last.say_hello();
  expect_left(last);
}

// As one that had ended and left its socket to a child.
TEST_F(LyingPeer, LosesItsLinksToTheNextOneWithItsMac) {
  Liar first(folder, kB);
  first.hello.incarnation = 1;
  ASSERT_TRUE(first.say_hello());
  ASSERT_TRUE(until([&] {
    b.receive();
    return b.port().receiving_links() == 1;
  }));
  Nic a(folder, kA);
  link(a, b);
  EXPECT_TRUE(until([&] {
    b.receive();
    return b.port().receiving_links() == 1;
  }));
}

TEST_F(LyingPeer, IsLeftWhenItCouldCutTheMemory) {
  Liar liar(folder, kB);
  const Descriptor file(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(file.get(), static_cast<off_t>(Liar::kGeometry.bytes())), 0);
  liar.say_hello(file.get());
  expect_left(liar);
}

TEST_F(LyingPeer, IsLeftWhenTheMemoryIsTooSmall) {
  Liar liar(folder, kB);
  const Descriptor file(memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(file.get(), 4096), 0);
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  liar.say_hello(file.get());
  expect_left(liar);
}

TEST_F(LyingPeer, IsLeftWhenItHandsOverNoMemory) {
  Liar liar(folder, kB);
  ::send(liar.socket(), &liar.hello, sizeof(liar.hello), 0);
  expect_left(liar);
}

TEST_F(LyingPeer, IsLeftWhenItSaysTooLittleOrTooMuch) {
  for (const std::size_t bytes : {std::size_t{1}, sizeof(Hello) - 1, sizeof(Hello) + 1}) {
    Liar liar(folder, kB);
    Bytes text(bytes, std::byte{1});
    std::memcpy(text.data(), &liar.hello, std::min(bytes, sizeof(liar.hello)));
    send_message(liar.socket(), text, liar.memory.file());
    errno = 0;
    EXPECT_TRUE(liar.is_left());
  }
}

TEST_F(LyingPeer, IsLeftWhenItSaysNothing) {
  Liar liar(folder, kB);
  expect_left(liar);
}

TEST_F(LyingPeer, MaySayWhatItLikesInTheRing) {
  Liar liar(folder, kB);
  ASSERT_TRUE(liar.say_hello());
  ASSERT_TRUE(until([&] {
    b.receive();
    return b.port().receiving_links() == 1;
  }));
  Bytes mark(MarkForm::kMaxBytes);
  mark.resize(kMarks.emit({.to = kB, .from = kA, .nonce = liar.hello.nonce}, mark));
  b.wire().to_receive.push_back(mark);
  auto& control = *reinterpret_cast<ring::Control*>(liar.memory.bytes().data());
  const auto dropped = b.port().statistics().dropped_frames;
  for (const std::uint64_t head : {std::uint64_t{3}, std::uint64_t{1} << 40, std::uint64_t{0}}) {
    control.head = head;
    EXPECT_EQ(b.receive(), std::vector<int>());
  }
  EXPECT_EQ(b.port().statistics().dropped_frames, dropped + 3) << "frames of no length";
  EXPECT_EQ(b.port().receiving_links(), 0u) << "a broken ring is given back";
  Welcome welcome;
  EXPECT_TRUE(receive_message(liar.socket(), std::as_writable_bytes(std::span(&welcome, 1))));
  expect_left(liar);
}

}  // namespace
}  // namespace urnic::drivers
