// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/port_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "tests/support/value_of.h"

namespace urnic::nic {
namespace {

using ::testing::HasSubstr;

PortSpec parsed(std::string_view text) {
  return urnic::test::value_of(PortSpec::parse(text));
}

std::string refusal(std::string_view text) {
  const auto spec = PortSpec::parse(text);
  EXPECT_FALSE(spec) << text;
  EXPECT_TRUE(spec || spec.error().code == EINVAL);
  return spec ? "" : spec.error().message;
}

TEST(PortSpec, ReadsAVhostSocketWhoseSideIsTheFrontUnlessSaidOtherwise) {
  EXPECT_EQ(parsed("vhost:/run/a.sock").kind, PortSpec::Kind::kVhost);
  EXPECT_EQ(parsed("vhost:/run/a.sock").target, "/run/a.sock");
  EXPECT_EQ(parsed("vhost:/run/a.sock").side, PortSpec::VhostSide::kFront);
  EXPECT_EQ(parsed("vhost:/run/a.sock,front").side, PortSpec::VhostSide::kFront);
  EXPECT_EQ(parsed("vhost:/run/a.sock,back").side, PortSpec::VhostSide::kBack);
  EXPECT_EQ(parsed("vhost:/run/a.sock,back").target, "/run/a.sock");
}

TEST(PortSpec, ReadsAnInterfaceAndTheLoopback) {
  EXPECT_EQ(parsed("af_packet:eth0").kind, PortSpec::Kind::kAfPacket);
  EXPECT_EQ(parsed("af_packet:eth0").target, "eth0");
  EXPECT_EQ(parsed("af_packet:eth0:1").target, "eth0:1");
  EXPECT_EQ(parsed("af_xdp:eth0").kind, PortSpec::Kind::kAfXdp);
  EXPECT_EQ(parsed("af_xdp:eth0").target, "eth0");
  EXPECT_TRUE(parsed("af_xdp:eth0").is_interface());
  EXPECT_EQ(parsed("loopback").kind, PortSpec::Kind::kLoopback);
  EXPECT_EQ(parsed("loopback").target, "");
}

TEST(PortSpec, ReadsAnAddressOfTheHostOrLeavesItToTheHost) {
  EXPECT_EQ(parsed("udp").kind, PortSpec::Kind::kUdp);
  EXPECT_EQ(parsed("udp").target, "");
  EXPECT_EQ(parsed("udp:10.0.0.1").target, "10.0.0.1");
  EXPECT_EQ(parsed("udp:fd00::1").target, "fd00::1");
  EXPECT_FALSE(parsed("udp:10.0.0.1").is_unsegmented);
  EXPECT_TRUE(parsed("udp:10.0.0.1,unsegmented").is_unsegmented);
  EXPECT_EQ(parsed("udp:10.0.0.1,unsegmented").target, "10.0.0.1");
  EXPECT_TRUE(parsed("udp,unsegmented").is_unsegmented);
  for (const std::string_view text :
       {"udp:", "udp,fast", "udp:10.0.0.1,fast", "udp:eth0", "udp:10.0.0", "udp:10.0.0.1:4791"}) {
    EXPECT_THAT(refusal(text), HasSubstr("is no IPv4 or IPv6 address")) << text;
  }
}

TEST(PortSpec, ReadsThePciAddressOfACardInTheWayOfTheKernel) {
  EXPECT_EQ(parsed("pci:0000:03:00.0").kind, PortSpec::Kind::kPci);
  EXPECT_EQ(parsed("pci:0000:03:00.0").target, "0000:03:00.0");
  EXPECT_EQ(parsed("pci:3B:1f.7").target, "0000:3b:1f.7");
  EXPECT_EQ(parsed("pci:10000:e1:00.0").target, "10000:e1:00.0");
  EXPECT_TRUE(parsed("pci:03:00.0").leads_to_a_network());
  EXPECT_FALSE(parsed("pci:03:00.0").is_interface());
  EXPECT_THAT(refusal("pci"), HasSubstr("the address of a PCI card is missing"));
  for (const std::string_view text :
       {"pci:eth0", "pci:03:00", "pci:3:00.0", "pci:03:20.0", "pci:03:00.8", "pci:03:00.0,x", "pci:03:00.0 ",
        "pci:000:03:00.0", "pci:0000:03:00.0:", "pci:0000:0000:03:00.0"}) {
    EXPECT_THAT(refusal(text), HasSubstr("is no address of a PCI card")) << text;
  }
}

TEST(PortSpec, ReadsAFabricThatIsTheDefaultOneUnlessNamed) {
  EXPECT_EQ(parsed("fabric").kind, PortSpec::Kind::kFabric);
  EXPECT_EQ(parsed("fabric").target, "default");
  EXPECT_EQ(parsed("fabric").slot, 0u);
  EXPECT_EQ(parsed("fabric:lab").target, "lab");
  EXPECT_EQ(parsed("fabric:lab,7").target, "lab");
  EXPECT_EQ(parsed("fabric:lab,7").slot, 7u);
  EXPECT_TRUE(parsed("fabric:lab,7").is_slot_named);
  EXPECT_FALSE(parsed("fabric:lab").is_slot_named);
}

TEST(PortSpec, ReadsThatAllFramesOfAFabricAreSwitched) {
  EXPECT_FALSE(parsed("fabric:lab,7").is_switched);
  EXPECT_TRUE(parsed("fabric:lab,switched").is_switched);
  EXPECT_FALSE(parsed("fabric:lab,switched").is_slot_named);
  EXPECT_TRUE(parsed("fabric:lab,7,switched").is_switched);
  EXPECT_EQ(parsed("fabric:lab,7,switched").slot, 7u);
}

TEST(PortSpec, RefusesNamesThatNoFolderShouldHave) {
  for (const std::string_view text : {"fabric:", "fabric:..", "fabric:a/b", "fabric:a b", "fabric:,3",
                                      "fabric:twenty-five-characters-long"}) {
    EXPECT_THAT(refusal(text), HasSubstr("is no name of a fabric")) << text;
  }
  for (const std::string_view text :
       {"fabric:a,", "fabric:a,241", "fabric:a,-1", "fabric:a,1x", "fabric:a,99999999999999", "fabric:a,1,2",
        "fabric:a,switched,1", "fabric:a,switched,switched", "fabric:a,1,", "fabric:a,direct"}) {
    EXPECT_THAT(refusal(text), HasSubstr("a number from 0 to 240")) << text;
  }
}

TEST(PortSpec, WritesWhatItReads) {
  for (const std::string_view text :
       {"vhost:/run/a.sock,front", "vhost:rel/a:b,back", "af_packet:eth0", "af_xdp:eth0", "loopback",
        "fabric:default,0", "fabric:my-Lab_2,240", "fabric:my-Lab_2,240,switched", "udp", "udp:10.0.0.1",
        "udp:fd00::1", "udp,unsegmented", "udp:fd00::1,unsegmented", "pci:0000:03:00.0"}) {
    EXPECT_EQ(parsed(text).to_string(), text);
  }
}

TEST(PortSpec, NamesTheFormsWhenTheKindIsUnknownOrTheTargetMissing) {
  for (const std::string_view text : {"", "tap:t0", "VHOST:/a", "vhost", "vhost:", "vhost:,back", "af_packet",
                                      "af_packet:", "af_xdp", "af_xdp:"}) {
    EXPECT_THAT(
        refusal(text),
        HasSubstr(
            "vhost:PATH[,front|back], af_packet:IFACE, af_xdp:IFACE, pci:ADDRESS, bench:PATH or loopback"))
        << text;
  }
  EXPECT_THAT(refusal("tap:t0"), HasSubstr("no kind of port called 'tap'"));
  EXPECT_THAT(refusal("vhost:"), HasSubstr("a socket path is missing"));
  EXPECT_THAT(refusal("af_packet"), HasSubstr("an interface name is missing"));
}

TEST(PortSpec, SaysWhatIsWrongWithASide) {
  EXPECT_THAT(refusal("vhost:/a,middle"), HasSubstr("'front' or 'back', not 'middle'"));
  EXPECT_THAT(refusal("vhost:/a,"), HasSubstr("'front' or 'back', not ''"));
  EXPECT_THAT(refusal("vhost:/a,b,back"), HasSubstr("a comma cannot be part of the socket path"));
}

TEST(PortSpec, TakesSocketPathsOf107BytesAndNoLongerOnes) {
  const std::string longest(107, 'p');
  EXPECT_EQ(parsed("vhost:" + longest).target, longest);
  EXPECT_EQ(parsed("vhost:" + longest + ",back").target, longest);
  EXPECT_THAT(refusal("vhost:p" + longest), HasSubstr("the socket path has 108 bytes, at most 107"));
}

TEST(PortSpec, TakesInterfaceNamesOf15BytesAndNoLongerOnes) {
  EXPECT_EQ(parsed("af_packet:fifteen-letters").target, "fifteen-letters");
  EXPECT_THAT(refusal("af_packet:sixteen--letters"), HasSubstr("at most 15 bytes"));
}

TEST(PortSpec, RefusesWhatNoInterfaceIsCalled) {
  for (const std::string_view text : {"af_packet:a b", "af_packet:a,b", "af_packet:../a", "af_xdp:a/b"}) {
    EXPECT_THAT(refusal(text), HasSubstr("is not an interface name")) << text;
  }
}

TEST(PortSpec, RefusesATargetForTheLoopbackAndZeroBytes) {
  EXPECT_THAT(refusal("loopback:x"), HasSubstr("takes nothing"));
  EXPECT_THAT(refusal("loopback:"), HasSubstr("takes nothing"));
  EXPECT_THAT(refusal(std::string_view("vhost:/a\0b", 10)), HasSubstr("zero byte"));
}

}  // namespace
}  // namespace urnic::nic
