// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/arp.h"

#include <gtest/gtest.h>

#include "tests/unit/transport/wire/captured.h"

namespace urnic::transport::wire {
namespace {

using test::Bytes;
using test::operator+;
using test::hex;
using test::slice;
using test::with_u16;

// arp_nd_linux.pcap, frames 7 and 8, after the Ethernet header: 10.9.0.1 asks for 10.9.0.2.
const Bytes kRequestBytes = hex("0001 0800 06 04 0001 020000000001 0a090001 000000000000 0a090002");
const Bytes kReplyBytes = hex("0001 0800 06 04 0002 020000000002 0a090002 020000000001 0a090001");

const Arp kRequest{.operation = Arp::Operation::kRequest,
                   .sender_mac = Mac{{2, 0, 0, 0, 0, 1}},
                   .sender_ip = Ipv4Address{{10, 9, 0, 1}},
                   .target_ip = Ipv4Address{{10, 9, 0, 2}}};
const Arp kReply{.operation = Arp::Operation::kReply,
                 .sender_mac = Mac{{2, 0, 0, 0, 0, 2}},
                 .sender_ip = Ipv4Address{{10, 9, 0, 2}},
                 .target_mac = Mac{{2, 0, 0, 0, 0, 1}},
                 .target_ip = Ipv4Address{{10, 9, 0, 1}}};

Bytes emitted(const Arp& arp) {
  Bytes out(64, std::byte{0xcc});
  out.resize(emit(arp, out));
  return out;
}

TEST(Arp, ReadsWhatLinuxSent) {
  EXPECT_EQ(Arp::parse(kRequestBytes), kRequest);
  EXPECT_EQ(Arp::parse(kReplyBytes), kReply);
}

TEST(Arp, WritesWhatLinuxSent) {
  EXPECT_EQ(emitted(kRequest), kRequestBytes);
  EXPECT_EQ(emitted(kReply), kReplyBytes);
}

TEST(Arp, DoesNotMindEthernetPadding) {
  EXPECT_EQ(Arp::parse(kReplyBytes + Bytes(18)), kReply);
}

TEST(Arp, RefusesACutPacket) {
  for (std::size_t size = 0; size < Arp::kBytes; ++size) {
    EXPECT_EQ(Arp::parse(slice(kRequestBytes, 0, size)), std::nullopt) << size;
  }
}

TEST(Arp, RefusesOtherHardwareProtocolsSizesAndOperations) {
  EXPECT_EQ(Arp::parse(with_u16(kRequestBytes, 0, 6)), std::nullopt);
  EXPECT_EQ(Arp::parse(with_u16(kRequestBytes, 2, 0x86dd)), std::nullopt);
  EXPECT_EQ(Arp::parse(with_u16(kRequestBytes, 4, 0x0804)), std::nullopt);
  EXPECT_EQ(Arp::parse(with_u16(kRequestBytes, 4, 0x0610)), std::nullopt);
  EXPECT_EQ(Arp::parse(with_u16(kRequestBytes, 6, 0)), std::nullopt);
  EXPECT_EQ(Arp::parse(with_u16(kRequestBytes, 6, 3)), std::nullopt);
}

}  // namespace
}  // namespace urnic::transport::wire
