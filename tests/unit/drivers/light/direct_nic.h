// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NICs with direct links for tests, whose switch is the test.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/direct/direct_port.h"
#include "drivers/direct/greeting.h"
#include "drivers/direct/mark.h"
#include "tests/unit/drivers/light/fake_port.h"

namespace urnic::drivers::test {

using namespace std::chrono_literals;
using transport::wire::Mac;

inline constexpr Mac kA{{2, 0, 0, 0, 0, 0xa}};
inline constexpr Mac kB{{2, 0, 0, 0, 0, 0xb}};
inline constexpr std::size_t kMaxFrame = 2000;
inline constexpr int kConversation = 4;
inline const MarkForm kMarks(nic::Medium::kEthernet, {});
inline const auto kSharedAddress = transport::wire::Gid::from_ipv4({{10, 9, 0, 1}});

/// Waits for what other threads do.
template <typename Condition>
bool until(Condition&& condition, std::chrono::milliseconds patience = 10s) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/urnic-test-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string socket_of(const Mac& mac) const { return path_ + "/" + std::to_string(mac.octets[5]); }

 private:
  std::string path_;
};

class Nic {
 public:
  Nic(const Folder& folder, const Mac& mac, std::chrono::milliseconds unused_after = 10s,
      nic::Medium medium = nic::Medium::kEthernet, bool must_have_icrc = false)
      : mac_(mac) {
    outside_->medium = medium;
    std::unique_ptr<nic::PacketPort> wire = std::make_unique<FakePort>(outside_, kMaxFrame);
    auto created =
        DirectPort::create(wire, {.own = mac,
                                  .socket_of = [&folder](const Mac& each) { return folder.socket_of(each); },
                                  .shared_address = kSharedAddress,
                                  .must_have_icrc = must_have_icrc,
                                  .unused_after = unused_after,
                                  .tell =
                                      [this](const std::string& line) {
                                        const std::lock_guard lock(told_mutex_);
                                        told_.push_back(line);
                                      }});
    if (!created) throw std::runtime_error(created.error().message);
    port_ = std::move(created.value());
  }

  DirectPort& port() { return *port_; }
  /// What people were told.
  std::vector<std::string> told() {
    const std::lock_guard lock(told_mutex_);
    return told_;
  }
  FakePort::Outside& wire() { return *outside_; }

  void send(const Mac& to, std::uint8_t fill, std::size_t size = 64) {
    const auto room = port_->reserve_to(to);
    ASSERT_FALSE(room.empty());
    const Bytes frame = frame_between(to, mac_, size, fill);
    std::copy(frame.begin(), frame.end(), room.bytes().begin());
    port_->commit(size);
    port_->flush();
  }
  /// The last bytes of the frames that two calls of receive() give: a mark opens a link for the second one.
  std::vector<int> receive(std::size_t most = 32) {
    std::vector<int> fills;
    for (int i = 0; i < 2; ++i) {
      for (const Bytes& frame : test::receive(*port_, most))
        fills.push_back(std::to_integer<int>(frame.back()));
    }
    return fills;
  }
  /// The same of those that are on the wire, without marks; they stay there.
  std::vector<int> on_wire() const {
    std::vector<int> fills;
    for (const Bytes& frame : outside_->sent) {
      if (!kMarks.parse(frame)) fills.push_back(std::to_integer<int>(frame.back()));
    }
    return fills;
  }
  /// The switch forwards what it has.
  void forward_to(Nic& other) {
    for (Bytes& frame : outside_->sent) other.wire().to_receive.push_back(std::move(frame));
    outside_->sent.clear();
  }
  void end() { port_.reset(); }

 private:
  Mac mac_;
  std::shared_ptr<FakePort::Outside> outside_ = std::make_shared<FakePort::Outside>();
  std::mutex told_mutex_;
  std::vector<std::string> told_;
  std::unique_ptr<DirectPort> port_;
};

/// A NIC whose thread of links has no turn on a processor, in a process that runs.
class SilentPeer {
 public:
  SilentPeer(const Folder& folder, const Mac& mac)
      : listener_(std::move(listen_for_links(folder.socket_of(mac)).value())) {}

  /// Whether another NIC asks for a link within that time.
  bool is_asked(std::chrono::milliseconds patience = 10s) {
    pollfd asked{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    return poll(&asked, 1, static_cast<int>(patience.count())) == 1;
  }
  void end() { listener_ = Descriptor(); }

 private:
  Descriptor listener_;
};

/// Two NICs of a fabric.
class DirectPortTest : public testing::Test {
 protected:
  /// A talks until it has a link to B, which is open.
  void link(Nic& from, Nic& to) {
    talk(from, to);
    from.send(kB, 200);
    from.forward_to(to);
    EXPECT_EQ(to.receive(), (std::vector{0, 1, 2, 3, 200}));
  }
  /// B makes one back, which is not open before it sends something.
  void talk(Nic& from, Nic& to) {
    for (std::uint8_t i = 0; i < kConversation; ++i) from.send(kB, i);
    ASSERT_TRUE(until([&] {
      from.receive();
      to.receive();
      return from.port().sending_links() == 1 && to.port().receiving_links() == 1 &&
             to.port().sending_links() == 1 && from.port().receiving_links() == 1;
    }));
  }

  Folder folder;
};

}  // namespace urnic::drivers::test
