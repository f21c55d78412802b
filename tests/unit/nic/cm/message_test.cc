// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Messages of the connection manager: what others wrote, what tshark reads of ours, and what no peer should
// send.
#include "nic/cm/message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/unit/nic/cm/captured_mads.h"
#include "tests/unit/nic/cm/captured_messages.h"
#include "tests/unit/nic/cm/message_text.h"
#include "tests/unit/nic/cm/tshark_reading.h"
#include "transport/types.h"

namespace urnic::nic::cm {
namespace {

using transport::PathMtu;
using transport::Psn;
using transport::QpNumber;
using transport::test::Bytes;

/// "" for what cannot be read.
std::string read(std::span<const std::byte> bytes) {
  const auto parsed = parse(bytes);
  const Mad* const mad = std::get_if<Mad>(&parsed);
  return mad != nullptr ? describe(*mad) : "";
}

TEST(CmMessage, SaysOfEachCapturedDatagramWhatTsharkSays) {
  std::size_t outside = 0;
  std::size_t compared = 0;
  std::map<std::string, std::vector<CapturedMad>> captures;
  for (const auto& [name, text] : captured_messages()) {
    const std::string capture = name.substr(0, name.find(' '));
    const std::size_t frame = std::stoul(name.substr(name.find(' ') + 1));
    if (!captures.contains(capture)) captures[capture] = mads_in(capture);
    const auto& mads = captures[capture];
    if (mads.empty()) {
      ++outside;
      continue;
    }
    const auto mad =
        std::find_if(mads.begin(), mads.end(), [&](const CapturedMad& m) { return m.frame == frame; });
    ASSERT_NE(mad, mads.end()) << name;
    EXPECT_EQ(read(mad->bytes), text) << name;
    ++compared;
  }
  EXPECT_GE(compared, 9u) << "the captures of this tree";
  if (outside > 0) GTEST_SKIP() << outside << " messages are in captures that are not here";
}

TEST(CmMessage, IsWrittenAsItWasCaptured) {
  std::size_t messages = 0;
  for (const std::string& capture : all_captures()) {
    for (const CapturedMad& captured : mads_in(capture)) {
      const auto parsed = parse(captured.bytes);
      ASSERT_TRUE(std::holds_alternative<Mad>(parsed)) << capture << ' ' << captured.frame;
      const auto written = write(std::get<Mad>(parsed));
      EXPECT_EQ(Bytes(written.begin(), written.end()), captured.bytes) << capture << ' ' << captured.frame;
      ++messages;
    }
  }
  EXPECT_GE(messages, 9u);
}

/// A message whose every bit is set that can be set.
Req highest_req() {
  Req req{.local_id = CommunicationId{0xffffffff},
          .service_id = ServiceId{0xffffffffffffffff},
          .local_ca_guid = 0xffffffffffffffff,
          .local_qp = QpNumber{transport::kMaxQpNumber},
          .transport = TransportType::kXrc,
          .responder_resources = 255,
          .initiator_depth = 255,
          .remote_response_timeout = 31,
          .local_response_timeout = 31,
          .end_to_end_flow_control = true,
          .starting_psn = Psn(Psn::kMask),
          .retry_count = 7,
          .rnr_retry_count = 7,
          .pkey = 0xffff,
          .path_mtu = PathMtu::k4096,
          .max_cm_retries = 15,
          .srq = true,
          .path = {.flow_label = 0xfffff,
                   .packet_rate = 63,
                   .traffic_class = 255,
                   .hop_limit = 255,
                   .service_level = 15,
                   .subnet_local = true,
                   .local_ack_timeout = 31},
          .ece = {.vendor_id = 0xffffff, .options = 0xffffffff}};
  req.path.local_gid.octets.fill(0xff);
  req.path.remote_gid.octets.fill(0xff);
  req.private_data.fill(std::byte{0xff});
  return req;
}

Rep highest_rep() {
  Rep rep{.local_id = CommunicationId{0xffffffff},
          .remote_id = CommunicationId{0xffffffff},
          .local_qkey = 0xffffffff,
          .local_qp = QpNumber{transport::kMaxQpNumber},
          .local_eec = 0xffffff,
          .starting_psn = Psn(Psn::kMask),
          .responder_resources = 255,
          .initiator_depth = 255,
          .target_ack_delay = 31,
          .failover_accepted = 3,
          .end_to_end_flow_control = true,
          .rnr_retry_count = 7,
          .srq = true,
          .local_ca_guid = 0xffffffffffffffff,
          .ece = {.vendor_id = 0xffffff, .options = 0xffffffff}};
  rep.private_data.fill(std::byte{0xff});
  return rep;
}

/// Messages with each field alone at its highest value, and with all of them.
std::vector<Message> extreme_messages() {
  std::vector<Message> messages;
  const auto add = [&](const auto& lowest, const auto& highest, auto... fields) {
    messages.push_back(lowest);
    messages.push_back(highest);
    (
        [&] {
          auto message = lowest;
          message.*fields = highest.*fields;
          messages.push_back(message);
        }(),
        ...);
  };
  const Req lowest_req{.pkey = 0, .path = {.local_lid = 0, .remote_lid = 0}};
  const Req req = highest_req();
  add(lowest_req, req, &Req::local_id, &Req::service_id, &Req::local_ca_guid, &Req::local_qp, &Req::transport,
      &Req::responder_resources, &Req::initiator_depth, &Req::remote_response_timeout,
      &Req::local_response_timeout, &Req::end_to_end_flow_control, &Req::starting_psn, &Req::retry_count,
      &Req::rnr_retry_count, &Req::pkey, &Req::path_mtu, &Req::max_cm_retries, &Req::srq, &Req::path,
      &Req::ece, &Req::private_data);
  const auto add_path = [&](auto field) {
    Req message = lowest_req;
    message.path.*field = req.path.*field;
    messages.push_back(message);
  };
  add_path(&PrimaryPath::local_gid);
  add_path(&PrimaryPath::remote_gid);
  add_path(&PrimaryPath::local_lid);
  add_path(&PrimaryPath::remote_lid);
  add_path(&PrimaryPath::traffic_class);
  add_path(&PrimaryPath::hop_limit);
  add_path(&PrimaryPath::service_level);
  add_path(&PrimaryPath::subnet_local);
  add_path(&PrimaryPath::local_ack_timeout);
  Req unreliable = lowest_req;
  unreliable.transport = TransportType::kUc;
  messages.push_back(unreliable);

  add(Rep{}, highest_rep(), &Rep::local_id, &Rep::remote_id, &Rep::local_qkey, &Rep::local_qp,
      &Rep::local_eec, &Rep::starting_psn, &Rep::responder_resources, &Rep::initiator_depth,
      &Rep::target_ack_delay, &Rep::failover_accepted, &Rep::end_to_end_flow_control, &Rep::rnr_retry_count,
      &Rep::srq, &Rep::local_ca_guid, &Rep::ece, &Rep::private_data);

  const CommunicationId id{0xffffffff};
  Rej rej{.local_id = id,
          .remote_id = id,
          .answered = Answered::kOther,
          .information_length = kInformationBytes,
          .reason = RejectReason{0xffff}};
  rej.information.fill(std::byte{0xff});
  rej.private_data.fill(std::byte{0xff});
  add(Rej{}, rej, &Rej::local_id, &Rej::remote_id, &Rej::answered, &Rej::information_length, &Rej::reason,
      &Rej::information, &Rej::private_data);

  Rtu rtu{.local_id = id, .remote_id = id};
  rtu.private_data.fill(std::byte{0xff});
  add(Rtu{}, rtu, &Rtu::local_id, &Rtu::remote_id, &Rtu::private_data);
  Drep drep{.local_id = id, .remote_id = id};
  drep.private_data.fill(std::byte{0xff});
  add(Drep{}, drep, &Drep::local_id, &Drep::remote_id, &Drep::private_data);
  Dreq dreq{.local_id = id, .remote_id = id, .remote_qp = QpNumber{transport::kMaxQpNumber}};
  dreq.private_data.fill(std::byte{0xff});
  add(Dreq{}, dreq, &Dreq::local_id, &Dreq::remote_id, &Dreq::remote_qp, &Dreq::private_data);
  return messages;
}

TEST(CmMessage, IsReadByTsharkWithTheValuesThatWeWrote) {
  const std::vector<Message> messages = extreme_messages();
  std::vector<Mad> mads;
  for (const Message& message : messages) {
    mads.push_back({.transaction_id = mads.size() % 2 == 0 ? 0xffffffffffffffff : 1, .message = message});
  }
  const auto rows = read_by_tshark(mads);
  if (rows.empty()) GTEST_SKIP() << "tshark is not installed";
  ASSERT_EQ(rows.size(), mads.size());
  for (std::size_t i = 0; i < mads.size(); ++i) {
    EXPECT_EQ(rows[i], without_what_tshark_misreads(describe(mads[i]))) << "message " << i;
    const auto written = write(mads[i]);
    EXPECT_EQ(read(written), describe(mads[i])) << "message " << i;
  }
}

/// Bytes from `at` on, counted from the end of the header.
struct At {
  std::size_t at = 0;
  std::vector<unsigned> bytes;
};

Bytes body_with(unsigned attribute, const std::vector<At>& places) {
  Bytes bytes(kMadBytes);
  for (const auto& [at, value] : std::map<std::size_t, unsigned>{{0, 1}, {1, 7}, {2, 2}, {3, 3}}) {
    bytes[at] = static_cast<std::byte>(value);
  }
  bytes[15] = std::byte{9};  // transaction ID
  bytes[17] = static_cast<std::byte>(attribute);
  for (const At& place : places) {
    for (std::size_t i = 0; i < place.bytes.size(); ++i) {
      bytes[24 + place.at + i] = static_cast<std::byte>(place.bytes[i]);
    }
  }
  return bytes;
}

// What tshark does not take apart, or takes apart wrongly, by the offsets of CM.md 2.
TEST(CmMessage, HasEachFieldAtItsOffset) {
  Mra mra{.local_id = CommunicationId{0x01020304},
          .remote_id = CommunicationId{0x05060708},
          .answered = Answered::kOther,
          .service_timeout = 0x15};
  mra.private_data.front() = std::byte{0xa1};
  mra.private_data.back() = std::byte{0xa2};
  SidrReq sidr_req{
      .request_id = CommunicationId{0x01020304}, .pkey = 0x0506, .service_id = ServiceId{0x1112131415161718}};
  sidr_req.private_data.front() = std::byte{0xa1};
  sidr_req.private_data.back() = std::byte{0xa2};
  SidrRep sidr_rep{.request_id = CommunicationId{0x01020304},
                   .status = SidrStatus::kUnsupportedVersion,
                   .information_length = 72,
                   .qp = QpNumber{0x212223},
                   .service_id = ServiceId{0x1112131415161718},
                   .qkey = 0x31323334};
  sidr_rep.information.front() = std::byte{0xb1};
  sidr_rep.information.back() = std::byte{0xb2};
  sidr_rep.private_data.front() = std::byte{0xa1};
  sidr_rep.private_data.back() = std::byte{0xa2};
  const Req req{.pkey = 0,
                .path_mtu = PathMtu::k2048,
                .path = {.local_lid = 0, .remote_lid = 0, .flow_label = 0x12345, .packet_rate = 0x2a}};
  const std::vector<std::pair<Message, Bytes>> rows = {
      {mra, body_with(0x11, {{0, {1, 2, 3, 4}},
                             {4, {5, 6, 7, 8}},
                             {8, {2u << 6}},
                             {9, {0x15u << 3}},
                             {10, {0xa1}},
                             {231, {0xa2}}})},
      {sidr_req, body_with(0x17, {{0, {1, 2, 3, 4}},
                                  {4, {5, 6}},
                                  {8, {0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}},
                                  {16, {0xa1}},
                                  {231, {0xa2}}})},
      {sidr_rep, body_with(0x18, {{0, {1, 2, 3, 4}},
                                  {4, {5, 72}},
                                  {8, {0x21, 0x22, 0x23}},
                                  {12, {0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}},
                                  {20, {0x31, 0x32, 0x33, 0x34}},
                                  {24, {0xb1}},
                                  {95, {0xb2}},
                                  {96, {0xa1}},
                                  {231, {0xa2}}})},
      {req, body_with(0x10, {{50, {4u << 4}}, {88, {0x12, 0x34, 0x50, 0x2a}}})},
  };
  for (const auto& [message, bytes] : rows) {
    const Mad mad{.transaction_id = 9, .message = message};
    const auto written = write(mad);
    EXPECT_EQ(Bytes(written.begin(), written.end()), bytes) << describe(mad);
    EXPECT_EQ(read(bytes), describe(mad));
  }
}

/// What a REQ or a REP offers.
Ece ece_in(std::span<const std::byte> bytes) {
  const auto parsed = parse(bytes);
  const Message& message = std::get<Mad>(parsed).message;
  const Req* const req = std::get_if<Req>(&message);
  return req != nullptr ? req->ece : std::get<Rep>(message).ece;
}

// Where the kernel has it: CM_REQ_VENDOR_ID and CM_REP_VENDOR_ID_H, _M and _L of ibta_vol1_c12.h, attr_mod of
// ib_mad_hdr.
TEST(CmMessage, CarriesWhatIsOfferedBeyondTheStandard) {
  const Ece ece{.vendor_id = 0x010203, .options = 0x0a0b0c0d};
  const std::vector<std::pair<Message, Bytes>> rows = {
      {Req{.pkey = 0, .path = {.local_lid = 0, .remote_lid = 0}, .ece = ece},
       body_with(0x10, {{5, {1, 2, 3}}, {50, {1u << 4}}})},
      {Rep{.ece = ece}, body_with(0x13, {{15, {1}}, {19, {2}}, {23, {3}}})},
  };
  for (const auto& [message, body] : rows) {
    Bytes bytes = body;
    for (unsigned i = 0; i < 4; ++i) bytes[20 + i] = static_cast<std::byte>(0x0a + i);
    const Mad mad{.transaction_id = 9, .message = message};
    const auto written = write(mad);
    EXPECT_EQ(Bytes(written.begin(), written.end()), bytes) << describe(mad);
    EXPECT_EQ(ece_in(bytes), ece) << describe(mad);
  }
}

TEST(CmMessage, HasRoomFor24BitsOfAVendor) {
  for (const Message& message :
       {Message(Req{.ece = {.vendor_id = 0xff010203}}), Message(Rep{.ece = {.vendor_id = 0xff010203}})}) {
    EXPECT_EQ(ece_in(write({.message = message})), (Ece{.vendor_id = 0x010203}));
  }
}

TEST(CmMessage, OfAConnectXNamesItsVendor) {
  const auto mads = mads_in("connectx_vlan_cm_send_ack");
  if (mads.empty()) GTEST_SKIP() << "the capture is not here";
  EXPECT_EQ(ece_in(mads.front().bytes), (Ece{.vendor_id = 0x15b3}));
}

TEST(CmMessage, AboutAlternatePathsIsKnownByName) {
  EXPECT_EQ(read(body_with(0x19, {{0, {1, 2, 3, 4}}, {4, {5, 6, 7, 8}}})),
            "LAP tid=9 local=1020304 remote=5060708");
  EXPECT_EQ(read(body_with(0x1a, {{0, {1, 2, 3, 4}}, {4, {5, 6, 7, 8}}})),
            "APR tid=9 local=1020304 remote=5060708");
}

TEST(CmMessage, OfARequestSaysThatItHasAnAlternatePath) {
  constexpr std::size_t kFirst = 96;
  constexpr std::size_t kLast = 139;
  for (const auto& [at, has] :
       std::map<std::size_t, bool>{{kFirst - 1, false}, {kFirst, true}, {kLast, true}, {kLast + 1, false}}) {
    const auto parsed = parse(body_with(0x10, {{50, {0x10}}, {at, {8}}}));
    ASSERT_TRUE(std::holds_alternative<Mad>(parsed));
    EXPECT_EQ(std::get<Req>(std::get<Mad>(parsed).message).has_alternate_path, has) << at;
  }
}

// --- What cannot be read ---

/// A REQ that can be read, with one byte changed.
Bytes changed_request(std::size_t at, unsigned value) {
  Bytes bytes = body_with(0x10, {{0, {1, 2, 3, 4}}, {50, {0x10}}});
  bytes[at] = static_cast<std::byte>(value);
  return bytes;
}

std::optional<MadError> error_of(std::span<const std::byte> bytes) {
  const auto parsed = parse(bytes);
  const MadError* const error = std::get_if<MadError>(&parsed);
  return error != nullptr ? std::optional(*error) : std::nullopt;
}

TEST(CmMessage, OfAnotherLengthIsRefused) {
  const Bytes whole = changed_request(0, 1);
  ASSERT_EQ(error_of(whole), std::nullopt);
  for (std::size_t length = 0; length < kMadBytes; ++length) {
    // A separate copy, so that a sanitizer sees a read beyond its end.
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(error_of(part), MadError::kWrongLength) << length;
    EXPECT_FALSE(unreadable_request(part)) << length;
  }
  Bytes longer = whole;
  longer.push_back(std::byte{});
  EXPECT_EQ(error_of(longer), MadError::kWrongLength);
  EXPECT_FALSE(unreadable_request(longer));
}

struct HostileByte {
  std::size_t at = 0;
  std::vector<unsigned> good;  ///< every other value is bad
  MadError error{};
  std::optional<RejectReason> reason;  ///< what the sender of a REQ is told
};

TEST(CmMessage, WithAnUnknownCodeIsRefusedAndItsSenderToldWhy) {
  std::vector<unsigned> rc_uc;  // any flow control and timeout
  for (unsigned value = 0; value < 256; ++value) {
    if (const unsigned type = value >> 1 & 3u; type < 2) rc_uc.push_back(value);
  }
  std::vector<unsigned> mtus;  // any RNR retries
  for (unsigned value = 0x10; value < 0x60; ++value) mtus.push_back(value);
  std::vector<unsigned> attributes;
  for (unsigned value = 0x10; value <= 0x1a; ++value) attributes.push_back(value);
  const HostileByte rows[] = {
      {0, {1}, MadError::kWrongVersion, {}},
      {1, {7}, MadError::kOtherClass, {}},
      {2, {2}, MadError::kWrongClassVersion, RejectReason::kInvalidClassVersion},
      {3, {3}, MadError::kOtherMethod, {}},
      {16, {0}, MadError::kUnknownAttribute, {}},
      {17, attributes, MadError::kUnknownAttribute, {}},
      {24 + 43, rc_uc, MadError::kBadField, RejectReason::kInvalidTransportType},
      {24 + 50, mtus, MadError::kBadField, RejectReason::kInvalidMtu},
  };
  for (const HostileByte& row : rows) {
    for (unsigned value = 0; value < 256; ++value) {
      const Bytes bytes = changed_request(row.at, value);
      const bool is_good = std::count(row.good.begin(), row.good.end(), value) > 0;
      const std::string where = "byte " + std::to_string(row.at) + " = " + std::to_string(value);
      EXPECT_EQ(error_of(bytes), is_good ? std::nullopt : std::optional(row.error)) << where;
      const auto unreadable = unreadable_request(bytes);
      EXPECT_EQ(unreadable.has_value(), !is_good && row.reason.has_value()) << where;
      if (unreadable) {
        EXPECT_EQ(unreadable->reason, *row.reason) << where;
        EXPECT_EQ(unreadable->transaction_id, 9u) << where;
        EXPECT_EQ(unreadable->remote_id, CommunicationId{0x01020304}) << where;
      }
    }
  }
}

// Extended transports: XRC is the only one.
TEST(CmMessage, WithAnUnknownExtendedTransportIsRefused) {
  for (unsigned extension = 0; extension < 8; ++extension) {
    const Bytes bytes = body_with(0x10, {{43, {3u << 1}}, {50, {0x10}}, {51, {extension}}});
    EXPECT_EQ(error_of(bytes), extension == 1 ? std::nullopt : std::optional(MadError::kBadField))
        << extension;
  }
}

TEST(CmMessage, OfAnotherKindInAnUnknownVersionHasNoSenderToTell) {
  for (unsigned attribute = 0x11; attribute <= 0x1a; ++attribute) {
    Bytes bytes = body_with(attribute, {});
    EXPECT_FALSE(unreadable_request(bytes));
    bytes[2] = std::byte{1};
    EXPECT_EQ(error_of(bytes), MadError::kWrongClassVersion);
    EXPECT_FALSE(unreadable_request(bytes));
  }
}

TEST(CmMessage, NeverSaysThatItHasMoreInformationThanFitsIntoIt) {
  const auto rej = parse(body_with(0x12, {{9, {0xff}}}));
  EXPECT_EQ(std::get<Rej>(std::get<Mad>(rej).message).information_length, kInformationBytes);
  const auto sidr = parse(body_with(0x18, {{5, {0xff}}}));
  EXPECT_EQ(std::get<SidrRep>(std::get<Mad>(sidr).message).information_length, kInformationBytes);
}

}  // namespace
}  // namespace urnic::nic::cm
