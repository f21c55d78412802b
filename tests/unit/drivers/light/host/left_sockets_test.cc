// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Sockets of processes that have ended are removed, others are not.
#include "drivers/host/left_sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "drivers/descriptor.h"
#include "tests/unit/drivers/light/temporary_folder.h"

namespace urnic::drivers {
namespace {

class LeftSockets : public testing::Test {
 protected:
  Descriptor listen_at(const std::string& name) const {
    Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path(name).copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    return listener;
  }
  void leave(const std::string& name) const { listen_at(name).reset(); }
  bool is_there(const std::string& name) const { return std::filesystem::exists(path(name)); }
  void remove(std::chrono::seconds age) const {
    remove_left_sockets(path("").substr(0, path("").size() - 1), age);
  }

 private:
  std::string path(const std::string& name) const { return folder_.file(name); }

  test::TemporaryFolder folder_;
};

TEST_F(LeftSockets, AreThoseOfLinksWhereNoProcessListens) {
  leave("host-4026531840.sock.1");
  const Descriptor alive = listen_at("host-4026531840.sock.2");
  leave("host-4026531840.sock");
  leave("status.12.4026531836");
  remove(std::chrono::seconds(0));
  EXPECT_FALSE(is_there("host-4026531840.sock.1"));
  EXPECT_TRUE(is_there("host-4026531840.sock.2"));
  EXPECT_TRUE(is_there("host-4026531840.sock"));
  EXPECT_TRUE(is_there("status.12.4026531836"));
}

TEST_F(LeftSockets, AreNotThoseThatHaveJustBeenMade) {
  leave("host-4026531840.sock.1");
  remove(std::chrono::seconds(60));
  EXPECT_TRUE(is_there("host-4026531840.sock.1"));
}

}  // namespace
}  // namespace urnic::drivers
