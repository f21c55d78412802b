// Ports with direct links around a wire that carries IP packets: NICs that share their host's address.
#include <gtest/gtest.h>

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
  EXPECT_TRUE(a.port().reserve_to(kB).empty());
  ASSERT_TRUE(until([&] {
    b.receive();
    return !a.port().reserve_to(kB).empty();
  }));
  EXPECT_EQ(a.port().sending_links(), 1u);
  a.send(kB, 77);
  ASSERT_EQ(a.wire().sent.size(), 1u);
  EXPECT_TRUE(MarkForm(nic::Medium::kIp, kSharedAddress).parse(a.wire().sent[0])) << "the mark alone";
  a.forward_to(b);
  EXPECT_EQ(b.receive(), std::vector{77});
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
