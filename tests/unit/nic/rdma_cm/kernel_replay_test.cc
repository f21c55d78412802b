// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Conversations between two kernels, with RdmaCm in the place of either.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "nic/config.h"
#include "nic/path/gid_table.h"
#include "nic/path/multicast_reports.h"
#include "nic/path/neighbor_cache.h"
#include "nic/rdma_cm/private_header.h"
#include "nic/rdma_cm/rdma_cm.h"
#include "tests/unit/nic/cm/captured_mads.h"
#include "tests/unit/nic/cm/message_text.h"
#include "transport/wire/byte_order.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;
using cm::CapturedMad;
using cm::Mad;
using transport::QpNumber;
using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::Mac;

/// What may be different in a message of ours from what the kernel said in its place.
struct Difference {
  std::string_view message;
  std::string_view field;
  std::string_view reason;
};
constexpr Difference kDifferences[] = {
    {"REQ", "local", "drawn"},
    {"REQ", "tid", "drawn"},
    {"REQ", "psn", "drawn"},
    {"REQ", "ack_timeout", "newer kernels take the path's packet lifetime to be 16 instead of 18: CM.md 2"},
    {"REQ", "rate", "the guests' Ethernet did not know its speed"},
    {"REP", "local", "drawn"},
    {"REP", "psn", "drawn"},
    {"REP", "ack_delay", "each device says its own; SaysHowLongItsDeviceTakesToAnswer has ours"},
    {"RTU", "local", "what we drew for REQ"},
    {"RTU", "tid", "what we drew for REQ"},
    {"DREQ", "local", "what we drew for REQ"},
    {"DREQ", "tid", "drawn"},
    {"DREP", "local", "what we drew for REP"},
    {"SIDR_REQ", "local", "drawn"},
    {"SIDR_REQ", "tid", "drawn"},
};

/// "REQ" and its fields.
using Fields = std::vector<std::pair<std::string, std::string>>;

Fields fields_of(const Mad& mad) {
  std::istringstream words(cm::describe(mad));
  Fields fields;
  std::string word;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    fields.emplace_back(word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1));
  }
  return fields;
}

bool may_differ(const std::string& message, const std::string& field) {
  return std::any_of(std::begin(kDifferences), std::end(kDifferences), [&](const Difference& difference) {
    return difference.message == message && difference.field == field;
  });
}

void expect_as_the_kernel_said(const Mad& ours, const Mad& kernels) {
  const Fields mine = fields_of(ours);
  const Fields theirs = fields_of(kernels);
  ASSERT_EQ(mine.front().first, theirs.front().first);
  ASSERT_EQ(mine.size(), theirs.size());
  const std::string message = mine.front().first;
  for (std::size_t i = 1; i < mine.size(); ++i) {
    ASSERT_EQ(mine[i].first, theirs[i].first);
    if (!may_differ(message, mine[i].first)) {
      EXPECT_EQ(mine[i].second, theirs[i].second) << message << ' ' << mine[i].first;
    }
  }
}

Mad read(const CapturedMad& captured) {
  const auto parsed = cm::parse(captured.bytes);
  EXPECT_TRUE(std::holds_alternative<Mad>(parsed));
  return std::get<Mad>(parsed);
}

/// One of the two guests of captures/rxe: its README has their addresses.
DeviceConfig config_of(std::uint8_t host) {
  DeviceConfig config;
  config.mac =
      host == 2 ? Mac{{0x52, 0x54, 0x98, 0xaf, 0x40, 0xcf}} : Mac{{0x52, 0x54, 0x01, 0xa6, 0x11, 0x75}};
  config.ipv4 = Ipv4Interface{.address = Ipv4Address{{10, 77, 0, host}}};
  config.ipv6 = Ipv6Interface{.address = *Ipv6Address::parse("fd77::" + std::to_string(host))};
  config.link_mtu = 1500;
  config.seed = 5;
  return config;
}

/// RdmaCm in the place of one guest, and the other's messages from a capture.
class Guest final : private ChannelSignal {
 public:
  Guest(std::uint8_t host, const std::string& capture)
      : host_(host), config_(config_of(host)), messages_(cm::mads_in(capture)) {}
  ~Guest() override {
    while (rdma_cm_.end_some_of(channel_, now_)) {
    }
  }

  bool has_capture() const { return !messages_.empty(); }
  Mad captured(std::size_t index) const { return read(messages_.at(index)); }
  RdmaCm& cm() { return rdma_cm_; }
  EventChannel& channel() { return channel_; }
  transport::Time now() const { return now_; }

  SocketAddress address(std::uint8_t host, std::uint16_t port) const {
    const bool is_ipv4 = messages_.front().source.is_ipv4_mapped();
    return {.family = is_ipv4 ? SocketAddress::Family::kIpv4 : SocketAddress::Family::kIpv6,
            .address = is_ipv4 ? Ipv6Address::from_ipv4({{10, 77, 0, host}})
                               : *Ipv6Address::parse("fd77::" + std::to_string(host)),
            .port = port};
  }

  /// An id of the client's program with a route to the server, from the port of the capture.
  IdNumber routed(Service service, std::uint16_t from, std::uint16_t to) {
    const IdNumber id = create(service);
    neighbors_.learn(messages_.front().destination, config_of(3).mac, now_);
    EXPECT_TRUE(rdma_cm_.bind(channel_, id, address(host_, from)));
    EXPECT_TRUE(rdma_cm_.resolve_address(channel_, id, {}, address(3, to), 1s, now_));
    expect_event(EventType::kAddressResolved);
    EXPECT_TRUE(rdma_cm_.resolve_route(channel_, id, 1s));
    expect_event(EventType::kRouteResolved);
    return id;
  }
  IdNumber listener(Service service, std::uint16_t port) {
    const IdNumber id = create(service);
    EXPECT_TRUE(rdma_cm_.bind(channel_, id, address(host_, port)));
    EXPECT_TRUE(rdma_cm_.listen(channel_, id, 0));
    return id;
  }

  /// The peer's message number `index`, about our connection instead of the kernel's.
  void deliver(std::size_t index, const Mad& mad) {
    const CapturedMad& captured = messages_.at(index);
    rdma_cm_.messages().on_mad(
        cm::write(mad),
        {.source = captured.source, .destination = captured.destination, .mac = captured.source_mac}, now_);
  }

  /// Our next message, which is compared with the kernel's number `index`.
  Mad expect_sent(std::size_t index) {
    SCOPED_TRACE("message " + std::to_string(index + 1));
    if (!rdma_cm_.messages().has_outgoing()) {
      ADD_FAILURE() << "nothing is sent";
      return {};
    }
    const cm::OutgoingMad outgoing = rdma_cm_.messages().next_outgoing();
    rdma_cm_.messages().pop();
    EXPECT_EQ(outgoing.path.source, messages_.at(index).source);
    EXPECT_EQ(outgoing.path.destination, messages_.at(index).destination);
    const auto parsed = cm::parse(outgoing.bytes);
    const Mad mad = std::get<Mad>(parsed);
    expect_as_the_kernel_said(mad, captured(index));
    return mad;
  }
  void expect_nothing_sent() { EXPECT_FALSE(rdma_cm_.messages().has_outgoing()); }

  Event expect_event(EventType type) {
    const auto event = rdma_cm_.next_event(channel_);
    EXPECT_TRUE(event.has_value());
    if (!event) return {};
    EXPECT_EQ(event->type, type);
    return *event;
  }

  void pass(transport::Duration duration) {
    now_ += duration;
    rdma_cm_.on_timeout(now_);
  }

 private:
  void set(bool) noexcept override {}
  IdNumber create(Service service) {
    const PortSpace space = service == Service::kUd ? PortSpace::kUdp : PortSpace::kTcp;
    return rdma_cm_.create_id(channel_, 1, space, service).value();
  }

  std::uint8_t host_;
  DeviceConfig config_;
  std::vector<CapturedMad> messages_;
  GidTable gids_{config_};
  NeighborCache neighbors_{config_, gids_};
  MulticastReports reports_{config_, gids_};
  RdmaCm rdma_cm_{config_, gids_, neighbors_, reports_};
  EventChannel channel_{*this};
  transport::Time now_{1000s};
};

/// What rping asks for; its private data are empty.
ConnectionParameters rping_parameters(QpNumber qp) {
  return {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7, .qp = qp};
}

class KernelReplay : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::uint8_t kClient = 2;
  static constexpr std::uint8_t kServer = 3;
};

// Messages: REQ, REP, RTU, DREQ, DREP; the client disconnects.
TEST_P(KernelReplay, OfAConnectionInThePlaceOfTheClient) {
  Guest client(kClient, GetParam());
  if (!client.has_capture()) GTEST_SKIP() << "the capture is not here";
  const auto req = std::get<cm::Req>(client.captured(0).message);
  const auto header = parse_private_header(req.private_data);
  ASSERT_TRUE(header);
  const IdNumber id =
      client.routed(Service::kRc, header->source.port, parse_service_id(req.service_id)->port);
  ASSERT_TRUE(client.cm().connect(client.channel(), id, rping_parameters(req.local_qp), client.now()));
  const Mad sent = client.expect_sent(0);
  const cm::CommunicationId own = std::get<cm::Req>(sent.message).local_id;

  Mad rep = client.captured(1);
  rep.transaction_id = sent.transaction_id;
  std::get<cm::Rep>(rep.message).remote_id = own;
  client.deliver(1, rep);
  const auto response = client.expect_event(EventType::kConnectResponse);
  EXPECT_EQ(std::get<ConnectionParameters>(response.parameters).qp, std::get<cm::Rep>(rep.message).local_qp);
  const QpSettings settings =
      client.cm().init_qp_attributes(client.channel(), id, transport::QpState::kReadyToSend).value();
  // Each side says which PSN it wants to receive first: rping, frames 2 and 4, 1 and 6.
  EXPECT_EQ(settings.send_psn, std::get<cm::Rep>(rep.message).starting_psn);
  EXPECT_EQ(settings.receive_psn, std::get<cm::Req>(sent.message).starting_psn);
  client.expect_nothing_sent();

  ASSERT_TRUE(client.cm().establish(client.channel(), id));
  const Mad rtu = client.expect_sent(2);
  EXPECT_EQ(rtu.transaction_id, sent.transaction_id);
  EXPECT_EQ(std::get<cm::Rtu>(rtu.message).local_id, own);
  ASSERT_TRUE(client.cm().disconnect(client.channel(), id, client.now()));
  const Mad dreq = client.expect_sent(3);
  EXPECT_EQ(std::get<cm::Dreq>(dreq.message).local_id, own);

  Mad drep = client.captured(4);
  drep.transaction_id = dreq.transaction_id;
  std::get<cm::Drep>(drep.message).remote_id = own;
  client.deliver(4, drep);
  client.expect_event(EventType::kDisconnected);
  client.pass(10s);
  client.expect_event(EventType::kTimewaitExit);
  client.expect_nothing_sent();
}

TEST_P(KernelReplay, OfAConnectionInThePlaceOfTheServer) {
  Guest server(kServer, GetParam());
  if (!server.has_capture()) GTEST_SKIP() << "the capture is not here";
  const auto req = std::get<cm::Req>(server.captured(0).message);
  const auto kernels_rep = std::get<cm::Rep>(server.captured(1).message);
  server.listener(Service::kRc, parse_service_id(req.service_id)->port);
  server.deliver(0, server.captured(0));
  const Event request = server.expect_event(EventType::kConnectRequest);
  const auto& wanted = std::get<ConnectionParameters>(request.parameters);
  EXPECT_EQ(wanted.qp, req.local_qp);
  EXPECT_EQ(wanted.retry_count, 7);
  EXPECT_EQ(wanted.private_data.size, 56);
  ASSERT_TRUE(server.cm().accept(server.channel(), request.id, 1, rping_parameters(kernels_rep.local_qp),
                                 server.now()));
  const Mad sent = server.expect_sent(1);
  const auto& rep = std::get<cm::Rep>(sent.message);
  const QpSettings settings =
      server.cm().init_qp_attributes(server.channel(), request.id, transport::QpState::kReadyToSend).value();
  EXPECT_EQ(settings.send_psn, req.starting_psn);
  EXPECT_EQ(settings.receive_psn, rep.starting_psn);

  Mad rtu = server.captured(2);
  std::get<cm::Rtu>(rtu.message).remote_id = rep.local_id;
  server.deliver(2, rtu);
  server.expect_event(EventType::kEstablished);
  Mad dreq = server.captured(3);
  std::get<cm::Dreq>(dreq.message).remote_id = rep.local_id;
  server.deliver(3, dreq);
  server.expect_event(EventType::kDisconnected);
  server.expect_nothing_sent();
  ASSERT_TRUE(server.cm().disconnect(server.channel(), request.id, server.now()));
  EXPECT_EQ(std::get<cm::Drep>(server.expect_sent(4).message).local_id, rep.local_id);
  server.pass(10s);
  server.expect_event(EventType::kTimewaitExit);
  server.expect_nothing_sent();
}

TEST_P(KernelReplay, SaysHowLongItsDeviceTakesToAnswer) {
  Guest server(kServer, GetParam());
  if (!server.has_capture()) GTEST_SKIP() << "the capture is not here";
  server.listener(Service::kRc, 7174);
  server.deliver(0, server.captured(0));
  const Event request = server.expect_event(EventType::kConnectRequest);
  const auto kernels = std::get<cm::Rep>(server.captured(1).message);
  ASSERT_TRUE(
      server.cm().accept(server.channel(), request.id, 1, rping_parameters(kernels.local_qp), server.now()));
  EXPECT_EQ(std::get<cm::Rep>(server.expect_sent(1).message).target_ack_delay, 12);
}

// The kernel's REP to XRC has the queue pair's number in another field.
TEST_P(KernelReplay, FindsTheQueuePairOfXrc) {
  Guest client(kClient, GetParam());
  if (!client.has_capture()) GTEST_SKIP() << "the capture is not here";
  const IdNumber id = client.routed(Service::kXrc, 0, 7174);
  ASSERT_TRUE(client.cm().connect(client.channel(), id, rping_parameters(QpNumber{9}), client.now()));
  const auto request = cm::parse(client.cm().messages().next_outgoing().bytes);
  Mad rep = client.captured(1);
  auto& fields = std::get<cm::Rep>(rep.message);
  fields.remote_id = std::get<cm::Req>(std::get<Mad>(request).message).local_id;
  fields.local_eec = transport::to_integer(fields.local_qp);
  const QpNumber peer = std::exchange(fields.local_qp, QpNumber{});
  client.deliver(1, rep);
  const Event response = client.expect_event(EventType::kConnectResponse);
  EXPECT_EQ(std::get<ConnectionParameters>(response.parameters).qp, peer);
  EXPECT_EQ(
      client.cm().init_qp_attributes(client.channel(), id, transport::QpState::kReadyToReceive).value().peer,
      peer);
}

INSTANTIATE_TEST_SUITE_P(Captures, KernelReplay, testing::Values("rping", "rping_ipv6"),
                         [](const auto& capture) { return std::string(capture.param); });

// REQ, REJ: no server listens.
TEST(KernelReplayOfARejection, InThePlaceOfTheClient) {
  Guest client(2, "cm_reject");
  const auto req = std::get<cm::Req>(client.captured(0).message);
  const auto header = parse_private_header(req.private_data);
  ASSERT_TRUE(header);
  const IdNumber id =
      client.routed(Service::kRc, header->source.port, parse_service_id(req.service_id)->port);
  ASSERT_TRUE(client.cm().connect(client.channel(), id, rping_parameters(req.local_qp), client.now()));
  const Mad sent = client.expect_sent(0);
  Mad rej = client.captured(1);
  rej.transaction_id = sent.transaction_id;
  std::get<cm::Rej>(rej.message).remote_id = std::get<cm::Req>(sent.message).local_id;
  client.deliver(1, rej);
  EXPECT_EQ(client.expect_event(EventType::kRejected).status, 8);
  client.expect_nothing_sent();
}

TEST(KernelReplayOfARejection, InThePlaceOfTheServer) {
  Guest server(3, "cm_reject");
  server.deliver(0, server.captured(0));
  server.expect_nothing_sent();  // the listener may be late
  server.pass(1s);
  server.expect_sent(1);
  server.expect_nothing_sent();
}

// While the listener may come, the peer gives up: it knows nothing of our ID, and says who it is.
TEST(KernelReplayOfARejection, MayBeMetByTheClientGivingUpFirst) {
  for (const bool is_listener_late : {true, false}) {
    Guest server(3, "cm_reject");
    const auto req = std::get<cm::Req>(server.captured(0).message);
    server.deliver(0, server.captured(0));
    cm::Rej rej{.local_id = req.local_id,
                .answered = cm::Answered::kOther,
                .information_length = 8,
                .reason = cm::RejectReason::kTimeout};
    transport::wire::store_u64(rej.information, 0, req.local_ca_guid);
    server.deliver(0, {.transaction_id = server.captured(0).transaction_id, .message = rej});
    if (is_listener_late) server.listener(Service::kRc, parse_service_id(req.service_id)->port);
    server.pass(1s);
    server.expect_nothing_sent();
    EXPECT_FALSE(server.cm().next_event(server.channel()));
  }
}

// SIDR_REQ, SIDR_REP.
TEST(KernelReplayOfADatagramService, InThePlaceOfTheClient) {
  Guest client(2, "udaddy");
  const auto request = std::get<cm::SidrReq>(client.captured(0).message);
  const auto header = parse_private_header(request.private_data);
  ASSERT_TRUE(header);
  const IdNumber id =
      client.routed(Service::kUd, header->source.port, parse_service_id(request.service_id)->port);
  ASSERT_TRUE(client.cm().connect(client.channel(), id, {}, client.now()));
  const Mad sent = client.expect_sent(0);
  Mad reply = client.captured(1);
  reply.transaction_id = sent.transaction_id;
  auto& fields = std::get<cm::SidrRep>(reply.message);
  fields.request_id = std::get<cm::SidrReq>(sent.message).request_id;
  client.deliver(1, reply);
  const auto event = client.expect_event(EventType::kEstablished);
  const auto& parameters = std::get<DatagramParameters>(event.parameters);
  EXPECT_EQ(parameters.qp, fields.qp);
  EXPECT_EQ(parameters.qkey, fields.qkey);
  client.expect_nothing_sent();
}

TEST(KernelReplayOfADatagramService, InThePlaceOfTheServer) {
  Guest server(3, "udaddy");
  const auto request = std::get<cm::SidrReq>(server.captured(0).message);
  const auto reply = std::get<cm::SidrRep>(server.captured(1).message);
  server.listener(Service::kUd, parse_service_id(request.service_id)->port);
  server.deliver(0, server.captured(0));
  const Event event = server.expect_event(EventType::kConnectRequest);
  ASSERT_TRUE(server.cm().accept(server.channel(), event.id, 1, {.qp = reply.qp}, server.now()));
  server.expect_sent(1);
  server.expect_nothing_sent();
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
