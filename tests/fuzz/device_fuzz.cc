// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: a whole device, with connected queue pairs, against a peer that says anything.
//
// The input is a sequence of steps, each four bytes and then bytes of a frame or packet:
//
//   flags   see below
//   choice  bits 0-1 the queue pair (3 is the one that a call selected), 2-4 how much time passes before, 5-7
//           which operation is posted
//   length  of the bytes that follow, 14 bits, little-endian, and two bits: whether they come as a run, and
//           the MTU of its packets; what is missing at the end of the input is not there
//
// Bytes are a frame as it comes from the wire, or with kPacket a packet (BTH to padding) for which the peer's
// headers and the ICRC are made, so that changes go past the first checks; or with kCalls what the program
// asks of the device, its other queue pairs and objects among it (device_calls.h). device_rig.h says what
// must hold.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/fuzz/device_calls.h"
#include "tests/fuzz/device_rig.h"
#include "tests/fuzz/device_script.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/frame.h"
#include "transport/wire/icrc.h"
#include "transport/wire/packet.h"

namespace urnic::test {
namespace {

using namespace transport::wire;
using namespace std::chrono_literals;
using transport::Duration;
using transport::Psn;
using transport::SendOperation;

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMostSteps = 200;

constexpr std::array<Duration, 8> kDurations = {0ns, 1us, 100us, 1ms, 5ms, 50ms, 1s, 10s};

/// What is posted, by bits 5-7 of the choice; the last three are sent inline, over the limit at times.
constexpr std::array<SendOperation, 8> kOperations = {
    SendOperation::kSend,  SendOperation::kSendWithImmediate,
    SendOperation::kWrite, SendOperation::kWriteWithImmediate,
    SendOperation::kRead,  SendOperation::kSend,
    SendOperation::kWrite, SendOperation::kWriteWithImmediate};
constexpr std::size_t kFirstInline = 5;

/// Of what is posted, by the low bits of the step's length.
constexpr std::array<std::uint32_t, 8> kPostedBytes = {0, 1, 100, 1024, 1025, 3000, 16384, 16385};

constexpr std::size_t kDestinationQpAt = 5;
constexpr std::size_t kPsnAt = 9;
constexpr std::size_t kBehindBth = 12;
constexpr std::size_t kRkeyBehindAddress = 8;  // in RETH and AtomicETH

/// One of the device's keys, by a number from the input.
std::uint32_t rkey_of(const DeviceRig& rig, std::uint32_t number) {
  if ((number & 1u) != 0) return rig.read_only_rkey();
  const std::array keys = {rig.rkey(), rig.second_rkey(), rig.window_rkey(0), rig.window_rkey(1)};
  return keys[number >> 1 & 3u];
}

/// Replaces what only a peer that knows the device can know.
void aim(DeviceRig& rig, std::size_t qp_index, std::uint8_t flags, std::span<std::byte> packet) {
  if (packet.size() < Bth::kBytes) return;
  const OpcodeInfo& row = info(static_cast<Opcode>(load_u8(packet, 0)));
  if ((flags & Step::kQueuePair) != 0) {
    store_u24(packet, kDestinationQpAt, to_integer(rig.qp(qp_index).number()));
    if (has(row.headers, Headers::kDeth) && packet.size() >= kBehindBth + 4) {
      store_u32(packet, kBehindBth, DeviceRig::kQkey);
    }
    if (has(row.headers, Headers::kXrceth) && packet.size() >= kBehindBth + 4) {
      store_u32(packet, kBehindBth, rig.xrc_number(load_u32(packet, kBehindBth)));
    }
  }
  if ((flags & Step::kSequence) != 0) {
    const auto state = rig.qp(qp_index).query();
    const Psn origin = row.is_request ? state.receive_psn.value() : state.send_psn.value() - 1;
    store_u24(packet, kPsnAt, (origin + load_u24(packet, kPsnAt)).value());
  }
  const bool has_key = has(row.headers, Headers::kReth) || has(row.headers, Headers::kAtomicEth);
  const std::size_t address_at =
      kBehindBth + (has(row.headers, Headers::kXrceth) ? 4 : 0) + (has(row.headers, Headers::kFeth) ? 4 : 0);
  const std::size_t rkey_at = address_at + kRkeyBehindAddress;
  if ((flags & Step::kRemoteKey) != 0 && has_key && packet.size() >= rkey_at + 4) {
    store_u32(packet, rkey_at, rkey_of(rig, load_u32(packet, rkey_at)));
    store_u64(packet, address_at, rig.remote_address() + (load_u64(packet, address_at) & 0x7fffu));
  }
}

/// Makes the checksum of the IPv4 header and the ICRC right where there are such.
void repair(std::span<std::byte> bytes) {
  constexpr std::size_t kIpAt = Ethernet::kMinBytes;
  if (bytes.size() >= kIpAt + Ipv4::kMinBytes && load_u8(bytes, kIpAt) == 0x45) {
    store_u16(bytes, kIpAt + 10, 0);
    store_u16(bytes, kIpAt + 10, ipv4_header_checksum(bytes.subspan(kIpAt, Ipv4::kMinBytes)));
  }
  if (const auto frame = parse_frame(bytes)) {
    store_icrc(icrc_of(frame.value()), bytes.subspan(frame.value().used_bytes - kIcrcBytes));
  }
}

void take(const Step& step, DeviceRig& rig) {
  const std::size_t qp_index = (step.choice & 3u) == 3 ? rig.selected() : step.choice & 3u;
  rig.pass(kDurations[step.choice >> 2 & 7u]);
  if ((step.flags & Step::kReconnect) != 0) rig.reconnect(qp_index);
  const std::uint32_t posted_bytes = kPostedBytes[step.bytes.size() % kPostedBytes.size()];
  if ((step.flags & Step::kPostReceive) != 0) rig.post_receive(qp_index, posted_bytes);
  if ((step.flags & Step::kPostSend) != 0) {
    const std::size_t operation = step.choice >> 5;
    rig.post_send(qp_index, {.operation = kOperations[operation],
                             .length = posted_bytes,
                             .is_inline = operation >= kFirstInline});
    rig.run();
  }

  Bytes bytes(step.bytes.begin(), step.bytes.end());
  if ((step.flags & Step::kPacket) != 0) {
    aim(rig, qp_index, step.flags, bytes);
    rig.deliver_packet(qp_index, bytes, (step.flags & Step::kToGroup) != 0, step.run_mtu);
  } else if ((step.flags & Step::kCalls) != 0) {
    make_calls(bytes, rig);
  } else if (!bytes.empty()) {
    if ((step.flags & Step::kRepair) != 0) repair(bytes);
    rig.deliver(bytes, step.run_mtu);
  }
  rig.run();
}

}  // namespace
}  // namespace urnic::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace urnic::test;
  std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  DeviceRig rig;
  for (std::size_t steps = 0; !input.empty() && steps < kMostSteps; ++steps) take(take_step(input), rig);
  return 0;
}
