// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/opcode.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>

namespace urnic::transport::wire {
namespace {

using enum Position;

/// What a reader of the specification would write down about an opcode, independently of the table.
struct Expected {
  std::string name;
  std::size_t header_bytes;
  Position position;
  bool is_request;
  bool has_payload;
};

// The names are tshark 4.0's (`tshark -G values`, infiniband.bth.opcode), FLUSH and ATOMIC WRITE apart, which
// it does not know.
const std::map<unsigned, Expected> kReliableConnection = {
    {0x00, {"SEND First", 0, kFirst, true, true}},
    {0x01, {"SEND Middle", 0, kMiddle, true, true}},
    {0x02, {"SEND Last", 0, kLast, true, true}},
    {0x03, {"SEND Last with Immediate", 4, kLast, true, true}},
    {0x04, {"SEND Only", 0, kOnly, true, true}},
    {0x05, {"SEND Only with Immediate", 4, kOnly, true, true}},
    {0x06, {"RDMA WRITE First", 16, kFirst, true, true}},
    {0x07, {"RDMA WRITE Middle", 0, kMiddle, true, true}},
    {0x08, {"RDMA WRITE Last", 0, kLast, true, true}},
    {0x09, {"RDMA WRITE Last with Immediate", 4, kLast, true, true}},
    {0x0a, {"RDMA WRITE Only", 16, kOnly, true, true}},
    {0x0b, {"RDMA WRITE Only with Immediate", 20, kOnly, true, true}},
    {0x0c, {"RDMA READ Request", 16, kOnly, true, false}},
    {0x0d, {"RDMA READ response First", 4, kFirst, false, true}},
    {0x0e, {"RDMA READ response Middle", 0, kMiddle, false, true}},
    {0x0f, {"RDMA READ response Last", 4, kLast, false, true}},
    {0x10, {"RDMA READ response Only", 4, kOnly, false, true}},
    {0x11, {"Acknowledge", 4, kOnly, false, false}},
    {0x12, {"ATOMIC Acknowledge", 12, kOnly, false, false}},
    {0x13, {"CmpSwap", 28, kOnly, true, false}},
    {0x14, {"FetchAdd", 28, kOnly, true, false}},
    {0x16, {"SEND Last with Invalidate", 4, kLast, true, true}},
    {0x17, {"SEND Only with Invalidate", 4, kOnly, true, true}},
    {0x1c, {"FLUSH", 20, kOnly, true, false}},
    {0x1d, {"ATOMIC WRITE", 16, kOnly, true, true}},
};

std::map<unsigned, Expected> all_opcodes() {
  std::map<unsigned, Expected> all;
  for (const auto& [code, rc] : kReliableConnection) {
    Expected expected = rc;
    expected.name = "RC " + rc.name;
    all[code] = expected;

    expected.name = "XRC " + rc.name;
    expected.header_bytes = rc.header_bytes + (rc.is_request ? 4 : 0);
    all[0xa0 + code] = expected;

    if (code <= 0x0b) {
      expected.name = "UC " + rc.name;
      expected.header_bytes = rc.header_bytes;
      all[0x20 + code] = expected;
    }
  }
  all[0x64] = {"UD SEND Only", 8, kOnly, true, true};
  all[0x65] = {"UD SEND Only with Immediate", 12, kOnly, true, true};
  all[0x81] = {"CNP", 16, kOnly, false, false};
  all[0xd1] = {"RC Selective NAK", 4, kOnly, false, true};
  return all;
}

TEST(OpcodeTable, AgreesWithAListMadeIndependently) {
  for (const auto& [code, expected] : all_opcodes()) {
    SCOPED_TRACE(expected.name);
    const OpcodeInfo& row = info(static_cast<Opcode>(code));
    EXPECT_TRUE(row.exists());
    EXPECT_EQ(row.name, expected.name);
    EXPECT_EQ(row.header_bytes, expected.header_bytes);
    EXPECT_EQ(row.position, expected.position);
    EXPECT_EQ(row.is_request, expected.is_request);
    EXPECT_EQ(row.has_payload, expected.has_payload);
  }
}

TEST(OpcodeTable, HasNothingButThatList) {
  const auto known = all_opcodes();
  for (unsigned code = 0; code < 256; ++code) {
    const OpcodeInfo& row = info(static_cast<Opcode>(code));
    EXPECT_EQ(row.exists(), known.contains(code)) << std::hex << code;
    if (!row.exists()) {
      EXPECT_EQ(row.name, "unknown");
      EXPECT_EQ(row.header_bytes, 0);
      EXPECT_EQ(row.headers, Headers::kNone);
    }
  }
}

TEST(OpcodeTable, GivesAnOperationTheSameHeadersInEveryServiceButTheServicesOwn) {
  const auto headers = [](Opcode opcode, Service service) {
    return info(with_service(opcode, service)).headers;
  };
  EXPECT_EQ(headers(Opcode::kRcWriteOnlyWithImmediate, Service::kRc), Headers::kReth | Headers::kImmediate);
  EXPECT_EQ(headers(Opcode::kRcWriteOnlyWithImmediate, Service::kUc), Headers::kReth | Headers::kImmediate);
  EXPECT_EQ(headers(Opcode::kRcWriteOnlyWithImmediate, Service::kXrc),
            Headers::kXrceth | Headers::kReth | Headers::kImmediate);
  EXPECT_EQ(headers(Opcode::kRcSendOnlyWithImmediate, Service::kUd), Headers::kDeth | Headers::kImmediate);
  EXPECT_EQ(headers(Opcode::kRcReadRequest, Service::kXrc), Headers::kXrceth | Headers::kReth);
  EXPECT_EQ(headers(Opcode::kRcReadResponseOnly, Service::kXrc), Headers::kAeth);
  EXPECT_EQ(headers(Opcode::kRcAtomicAcknowledge, Service::kXrc), Headers::kAeth | Headers::kAtomicAckEth);
}

TEST(OpcodeInfo, KnowsWhereAMessageBeginsAndEnds) {
  const auto row = [](Opcode opcode) { return info(opcode); };
  EXPECT_TRUE(row(Opcode::kRcSendFirst).begins_message());
  EXPECT_FALSE(row(Opcode::kRcSendFirst).ends_message());
  EXPECT_FALSE(row(Opcode::kRcSendMiddle).begins_message());
  EXPECT_FALSE(row(Opcode::kRcSendMiddle).ends_message());
  EXPECT_FALSE(row(Opcode::kRcSendLastWithInvalidate).begins_message());
  EXPECT_TRUE(row(Opcode::kRcSendLastWithInvalidate).ends_message());
  EXPECT_TRUE(row(Opcode::kRcCompareSwap).begins_message());
  EXPECT_TRUE(row(Opcode::kRcCompareSwap).ends_message());
  EXPECT_TRUE(row(Opcode::kRcWriteLastWithImmediate).has_immediate());
  EXPECT_FALSE(row(Opcode::kRcWriteLast).has_immediate());
}

TEST(Opcode, ChangesItsServiceAndNothingElse) {
  EXPECT_EQ(with_service(Opcode::kRcSendOnly, Service::kUd), Opcode::kUdSendOnly);
  EXPECT_EQ(to_integer(with_service(Opcode::kRcFetchAdd, Service::kXrc)), 0xb4);
  EXPECT_EQ(with_service(with_service(Opcode::kRcFetchAdd, Service::kXrc), Service::kRc),
            Opcode::kRcFetchAdd);
  EXPECT_EQ(service(Opcode::kUdSendOnlyWithImmediate), Service::kUd);
  EXPECT_EQ(service(Opcode::kCnp), Service::kCnp);
}

}  // namespace
}  // namespace urnic::transport::wire
