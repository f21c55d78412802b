// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/bench/packet_pair.h"

#include <algorithm>

#include "transport/wire/frame.h"
#include "transport/wire/packet.h"

namespace urnic::bench {

using transport::Access;
using transport::QpNumber;
using transport::SendOperation;
using transport::Sge;

namespace {

constexpr std::size_t kMemoryBytes = 1 << 16;
constexpr transport::PdId kPd{1};
constexpr transport::wire::Mac kMac{{0x02, 0, 0, 0, 0, 1}};

transport::wire::Gid address_of(QpNumber qp) {
  return transport::wire::Gid::from_ipv4({{10, 0, 0, static_cast<std::uint8_t>(to_integer(qp))}});
}

}  // namespace

End::End(QpNumber own, QpNumber peer)
    : memory_(kMemoryBytes),
      region_{.pd = kPd,
              .access = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead,
              .address = 0x10000,
              .length = kMemoryBytes,
              .memory = memory_.data()},
      endpoint_({.dma = table_,
                 .send_queue = send_queue_,
                 .send_completions = this,
                 .receiver = {.queue = &receive_queue_, .completions = this, .pd = kPd},
                 .events = *this,
                 .counters = counters_}),
      path_(nic::Path::make({.destination = address_of(peer)}, {address_of(own)}, {kMac}, own, peer)) {
  region_.key = table_.add(region_).value();
  config_.local_qp = own;
  config_.remote_qp = peer;
  config_.pd = kPd;
  config_.access = Access::kRemoteWrite | Access::kRemoteRead;
  config_.path_mtu = transport::PathMtu::k4096;
  connect();
}

void End::connect() {
  endpoint_.reset();
  endpoint_.to_init(config_);
  endpoint_.to_ready_to_receive(config_);
  endpoint_.to_ready_to_send(config_);
}

void End::post_send(SendOperation operation, std::uint32_t length, const End& to) {
  const std::array sges{
      Sge{.address = region_.address, .length = length, .lkey = transport::Lkey{region_.key}}};
  send_queue_.prepare({.operation = operation,
                       .signaled = true,
                       .remote_address = to.region_.address,
                       .rkey = transport::Rkey{to.region_.key}},
                      sges, length);
  send_queue_.publish();
}

void End::post_receive(std::uint32_t length) {
  const std::array sges{
      Sge{.address = region_.address, .length = length, .lkey = transport::Lkey{region_.key}}};
  receive_queue_.prepare({}, sges, length);
  receive_queue_.publish();
}

std::size_t End::build(std::span<std::byte> frame) {
  const std::size_t headers = path_.header_bytes();
  const transport::WrittenPacket packet = endpoint_.poll_transmit(frame.subspan(headers), now_);
  return packet.size == 0 ? 0 : path_.encapsulate(frame, packet, kMac);
}

bool End::take(std::span<const std::byte> bytes) {
  transport::wire::Frame frame;
  transport::wire::Packet packet;
  if (frame.read(bytes) || packet.read(frame.ib) || !frame.icrc_ok()) return false;
  if (packet.bth.destination_qp != config_.local_qp) return false;
  endpoint_.on_packet(packet, now_);
  return true;
}

}  // namespace urnic::bench
