// Ports with direct links around a wire that carries IP packets: NICs that share their host's address.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <vector>

#include "tests/unit/drivers/light/direct_nic.h"

namespace urnic::drivers {
namespace {

using namespace test;

class DirectPortOverIp : public testing::Test {
 protected:
  Folder folder;
  Nic a{folder, kA, 10s, nic::Medium::kIp};
};

TEST_F(DirectPortOverIp, TakesNothingForANicOfTheSameHostUntilThereIsALink) {
  Nic b(folder, kB, 10s, nic::Medium::kIp);
  EXPECT_EQ(a.port().reserve_to(kB).refusal(), nic::Room::Refusal::kStation) << "and for it alone";
  ASSERT_TRUE(until([&] {
    b.receive();
    return !a.port().reserve_to(kB).empty();
  }));
  EXPECT_EQ(a.port().sending_links(), 1u);
  a.send(kB, 77);
  // Nothing could overtake it, so it waits for nothing: the wire may lose all, as when the host has lost an address.
  EXPECT_EQ(a.wire().sent.size(), 0u);
  EXPECT_EQ(b.receive(), std::vector{77});
}

TEST_F(DirectPortOverIp, HasAMarkWhereFramesWentByTheWireBefore) {
  ASSERT_TRUE(until([&] { return !a.port().reserve_to(kB).empty(); })) << "there is no such NIC yet";
  a.send(kB, 1);
  Nic b(folder, kB, 10s, nic::Medium::kIp);
  // It asks again as it goes on.
  int sent = 1;
  ASSERT_TRUE(until([&] {
    if (a.port().sending_links() == 0) {
      a.send(kB, 1);
      ++sent;
    }
    a.receive();
    return a.port().sending_links() == 1;
  }));
  a.send(kB, 77);
  ASSERT_EQ(a.wire().sent.size(), static_cast<std::size_t>(sent) + 1);
  EXPECT_TRUE(MarkForm(nic::Medium::kIp, kSharedAddress).parse(a.wire().sent.back()));
  EXPECT_EQ(b.receive(), std::vector<int>()) << "the wire has not brought the others yet";
  a.forward_to(b);
  EXPECT_EQ(b.receive(static_cast<std::size_t>(sent) + 8).back(), 77);
}

TEST_F(DirectPortOverIp, WaitsForALostMarkLessThanAnAckTimeout) {
  ASSERT_TRUE(until([&] { return !a.port().reserve_to(kB).empty(); }));
  a.send(kB, 1);
  Nic b(folder, kB, 10s, nic::Medium::kIp);
  ASSERT_TRUE(until([&] {
    if (a.port().sending_links() == 0) a.send(kB, 1);
    a.receive();
    return a.port().sending_links() == 1;
  }));
  a.send(kB, 77);
  a.wire().sent.clear();
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(until([&] { return b.receive() == std::vector{77}; }));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 20ms);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 500ms) << "programs give up after 8 times 67 ms";
}

TEST_F(DirectPortOverIp, WaitsForAMomentAndOnceOnly) {
  EXPECT_TRUE(a.port().reserve_to(kB).empty()) << "no such NIC";
  ASSERT_TRUE(until([&] { return !a.port().reserve_to(kB).empty(); }));
  a.send(kB, 1);
  a.send(kB, 2);
  EXPECT_EQ(a.wire().sent.size(), 2u);
}

TEST_F(DirectPortOverIp, DoesNotWaitForThoseOfOtherHosts) {
  EXPECT_FALSE(a.port().reserve_to(Mac{}).empty());
  EXPECT_FALSE(a.port().reserve_to(kA).empty()) << "its own";
  EXPECT_FALSE(a.port().reserve_to(kBroadcast).empty());
}

}  // namespace
}  // namespace urnic::drivers
