// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/qp_fixture.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/support/bitwise_crc32.h"
#include "transport/make_endpoint.h"

namespace urnic::transport::test {
namespace {

/// What the contract says poll_transmit() needs at most, besides a path MTU.
constexpr std::size_t kMostHeaderBytes = 52;
constexpr auto kDatagram = static_cast<wire::Opcode>(0x64);
constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xee};
/// More than any of the tests sends at once: an endpoint that never stops must not hang the test.
constexpr int kMostPacketsAtOnce = 20000;

std::uint32_t total_length(const std::vector<Sge>& elements) {
  return std::accumulate(elements.begin(), elements.end(), std::uint32_t{0},
                         [](std::uint32_t sum, const Sge& sge) { return sum + sge.length; });
}

void expect_what_holds_of_all_packets(std::span<const std::byte> bytes, const wire::Packet& packet) {
  const wire::Bth& bth = packet.bth;
  EXPECT_TRUE(bth.migrated) << "MigReq (fact 15)";
  EXPECT_EQ(bth.pkey, 0xffff);
  EXPECT_FALSE(bth.fecn || bth.becn);
  EXPECT_EQ(bth.reserved6, 0);
  EXPECT_EQ(bth.reserved7, 0);
  EXPECT_EQ(bth.pad_count, -packet.payload.size() % 4) << "padding to a multiple of four (fact 3)";
  const auto padding = bytes.last(std::min<std::size_t>(bth.pad_count, bytes.size()));
  EXPECT_TRUE(std::all_of(padding.begin(), padding.end(), [](std::byte byte) {
    return byte == std::byte{0};
  })) << "padding is zero (fact 3)";
  const bool may_solicit = packet.info->ends_message() &&
                           (packet.info->operation == wire::Operation::kSend || packet.info->has_immediate());
  EXPECT_TRUE(may_solicit || !bth.solicited) << "solicited inside a message or on a WRITE (fact 17)";
}

void expect_right(const wire::TailCrc& tail, std::span<const std::byte> packet) {
  ASSERT_LE(tail.bytes(), packet.size());
  EXPECT_EQ(tail.crc(), urnic::test::bitwise_crc32(packet.last(tail.bytes()))) << tail.bytes() << " bytes";
}

}  // namespace

QpTest::QpTest(wire::Service service, bool shares_receive_queue)
    : owned_endpoint_(make_endpoint(service, dependencies(shares_receive_queue))) {
  config_.service = service;
  config_.local_qp = kOurQp;
  if (service != wire::Service::kUd) config_.remote_qp = kPeerQp;
  config_.qkey = kQkey;
  config_.pd = kPd;
  config_.access = Access::kRemoteWrite | Access::kRemoteRead;
  config_.path_mtu = PathMtu::k1024;
  config_.receive_psn = Psn(100);
  config_.max_responder_resources = 4;
  config_.min_rnr_timer = 12;
  config_.send_psn = Psn(200);
  config_.max_reads_in_flight = 4;

  const Access local_access = Access::kLocalWrite;
  const Access remote_access = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead;
  dma_.add_region({.key = to_integer(kLocalKey),
                   .address = kLocalAddress,
                   .length = kRegionBytes,
                   .pd = kPd,
                   .access = local_access});
  dma_.add_region({.key = to_integer(kShared.rkey),
                   .address = kShared.address,
                   .length = kRegionBytes,
                   .pd = kPd,
                   .access = remote_access});
  dma_.add_region({.key = to_integer(kReceiveKey),
                   .address = kReceiveAddress,
                   .length = kRegionBytes,
                   .pd = kPd,
                   .access = local_access});
}

QpDependencies QpTest::dependencies(bool shares_receive_queue) {
  return {.dma = dma_,
          .send_queue = send_queue_,
          .send_completions = &send_completions_,
          .receiver = {.queue = &receive_queue_,
                       .completions = &receive_completions_,
                       .pd = kPd,
                       .is_shared = shares_receive_queue},
          .events = events_,
          .counters = counters_,
          .withdrawn_keys = &withdrawn_keys_};
}

void QpTest::connect_to_init() {
  endpoint_.to_init(config_);
}

void QpTest::connect_to_rtr() {
  connect_to_init();
  endpoint_.to_ready_to_receive(config_);
}

void QpTest::connect() {
  connect_to_rtr();
  endpoint_.to_ready_to_send(config_);
}

std::optional<Bytes> QpTest::poll_bytes() {
  const std::size_t room = kMostHeaderBytes + bytes(config_.path_mtu);
  buffer_.assign(room + kGuardBytes, kGuard);
  const std::span<std::byte> out(buffer_);
  const WrittenPacket written = link_takes_runs_ ? endpoint_.poll_run(out.first(room), 1, now_)
                                                 : endpoint_.poll_transmit(out.first(room), now_);
  const std::size_t size = written.size;
  EXPECT_LE(size, room);
  EXPECT_TRUE(std::all_of(buffer_.begin() + static_cast<std::ptrdiff_t>(room), buffer_.end(),
                          [](std::byte byte) { return byte == kGuard; }))
      << "written beyond the buffer";
  if (size == 0 || size > room) return std::nullopt;
  const auto packet_bytes = out.first(size);
  expect_right(written.tail, packet_bytes);
  const auto packet = wire::parse_packet(packet_bytes);
  if (!packet) {
    ADD_FAILURE() << "sent something that is not a packet: " << wire::to_string(packet.error());
    return std::nullopt;
  }
  expect_what_holds_of_all_packets(packet_bytes, packet.value());
  return Bytes(packet_bytes.begin(), packet_bytes.end());
}

void QpTest::drain() {
  for (int i = 0; i < kMostPacketsAtOnce; ++i) {
    auto packet = poll_bytes();
    if (!packet) return;
    sent_.push_back(*std::move(packet));
  }
  ADD_FAILURE() << "does not stop to send";
}

std::vector<Bytes> QpTest::sent_bytes() {
  return std::exchange(sent_, {});
}

std::optional<QpPacket> QpTest::poll_one() {
  const auto bytes = poll_bytes();
  return bytes ? std::optional(value_of_sent(*bytes)) : std::nullopt;
}

std::vector<QpPacket> QpTest::sent() {
  std::vector<QpPacket> packets;
  for (const Bytes& bytes : sent_bytes()) packets.push_back(value_of_sent(bytes));
  return packets;
}

QpPacket QpTest::value_of_sent(const Bytes& bytes) const {
  const auto packet = wire::parse_packet(bytes);
  EXPECT_TRUE(packet);
  if (!packet) return {};
  if (config_.service != wire::Service::kUd) {
    EXPECT_EQ(packet.value().bth.destination_qp, kPeerQp);
  }
  return to_value(packet.value());
}

void QpTest::arrives(const QpPacket& packet, const Bytes& network_header) {
  const QpPacket arrived = config_.service == wire::Service::kUc ? as_uc(packet) : packet;
  wire::Packet view = arrived.view(kOurQp);
  view.network_header = network_header;
  endpoint_.on_packet(view, now_);
}

void QpTest::peer_sends(const std::vector<QpPacket>& burst, const Bytes& network_header) {
  for (const QpPacket& packet : burst) arrives(packet, network_header);
  const std::size_t sent_before = sent_.size();
  drain();
  EXPECT_TRUE(acknowledges() || sent_.size() == sent_before) << "an unreliable service answered";
}

void QpTest::expire_timer() {
  endpoint_.on_timeout(now_);
  drain();
  EXPECT_GT(endpoint_.next_timeout(), now_) << "a timer that expired asks for the past";
}

void QpTest::pass(Duration duration) {
  const Time end = now_ + duration;
  while (endpoint_.next_timeout() <= end) {
    now_ = std::max(now_, endpoint_.next_timeout());
    expire_timer();
    if (HasFailure()) return;
  }
  now_ = end;
  drain();
}

void QpTest::pass_to_timeout() {
  const auto left = until_timeout();
  ASSERT_TRUE(left.has_value()) << "no timer runs";
  pass(*left);
}

std::optional<Duration> QpTest::until_timeout() const {
  const Time deadline = endpoint_.next_timeout();
  return deadline == kNever ? std::nullopt : std::optional(std::max(deadline - now_, Duration(0)));
}

void QpTest::post_quietly(const SendWr& wr) {
  ASSERT_FALSE(send_queue_.is_full());
  if (wr.inline_data) {
    const auto size = static_cast<std::uint32_t>(wr.inline_data->size());
    const auto place = send_queue_.prepare_inline(wr.request, size);
    std::copy(wr.inline_data->begin(), wr.inline_data->end(), place.begin());
  } else {
    send_queue_.prepare(wr.request, wr.sges, total_length(wr.sges));
  }
  send_queue_.publish();
}

void QpTest::post(std::initializer_list<SendWr> batch) {
  for (const SendWr& wr : batch) post_quietly(wr);
  drain();
}

void QpTest::post_receives(std::initializer_list<std::uint64_t> wr_ids, std::uint32_t length) {
  for (const std::uint64_t wr_id : wr_ids) {
    post_receive(wr_id, {{.address = next_receive_address_, .length = length, .lkey = kReceiveKey}});
    next_receive_address_ += length;
  }
}

void QpTest::post_receive(std::uint64_t wr_id, const std::vector<Sge>& elements) {
  ASSERT_FALSE(receive_queue_.is_full());
  receive_queue_.prepare({.wr_id = wr_id}, elements, total_length(elements));
  receive_queue_.publish();
}

Bytes QpTest::shared_memory(std::uint64_t offset, std::size_t size) const {
  return dma_.read(to_integer(kShared.rkey), kShared.address + offset, size);
}

Bytes QpTest::local_memory(std::uint64_t offset, std::size_t size) const {
  return dma_.read(to_integer(kLocalKey), kLocalAddress + offset, size);
}

Bytes QpTest::receive_memory(std::uint64_t offset, std::size_t size) const {
  return dma_.read(to_integer(kReceiveKey), kReceiveAddress + offset, size);
}

QpPacket UdTest::datagram(Bytes payload) {
  return {
      .opcode = kDatagram, .psn = Psn(0), .qkey = kQkey, .source_qp = kPeerQp, .payload = std::move(payload)};
}

QpPacket UdTest::to_peer(Psn psn, Bytes payload) {
  return {.opcode = kDatagram,
          .psn = psn,
          .qkey = kQkey,
          .source_qp = kOurQp,
          .destination_qp = kPeerQp,
          .payload = std::move(payload)};
}

SendWr UdTest::datagram_wr(std::uint64_t wr_id, std::uint32_t length, std::uint32_t qkey) {
  SendWr wr = send_wr(wr_id, length);
  wr.request.destination = {.address = kPeerAddress, .qp = kPeerQp, .qkey = qkey};
  return wr;
}

}  // namespace urnic::transport::test
