// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Writes the corpus of device_fuzz: conversations made by hand, and the requests of captures aimed at our
// queue pairs.
//
//   make_device_corpus FIXTURES FOLDER        # pcap_fixtures and tests/fuzz/corpus/device
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fuzz/device_calls.h"
#include "tests/fuzz/device_script.h"
#include "tests/support/pcap_file.h"
#include "transport/wire/frame.h"
#include "transport/wire/packet.h"

namespace urnic::test {
namespace {

namespace fs = std::filesystem;
using namespace transport::wire;
using transport::Psn;

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMtu = 1024;
constexpr std::size_t kLongestScript = 9000;

// Choices. device_fuzz.cc has the operations and times.
constexpr std::uint8_t on_qp(std::uint8_t qp, std::uint8_t time = 0, std::uint8_t operation = 0) {
  return static_cast<std::uint8_t>(qp | time << 2 | operation << 5);
}
constexpr std::uint8_t kHundredMicroseconds = 2;
constexpr std::uint8_t kFiftyMilliseconds = 5;
constexpr std::uint8_t kSend = 0;
constexpr std::uint8_t kWrite = 2;
constexpr std::uint8_t kRead = 4;
constexpr std::uint8_t kInlineSend = 5;
constexpr std::uint8_t kNoRun = 0;
constexpr std::uint8_t kRunOf256 = 1;
constexpr std::uint8_t kRunOf1024 = 2;

class Script {
 public:
  Script& step(std::uint8_t flags, std::uint8_t choice, const Bytes& bytes, std::uint8_t run = kNoRun) {
    const std::size_t length = bytes.size() | std::size_t{run} << 14;
    for (const std::size_t byte : {std::size_t{flags}, std::size_t{choice}, length & 0xff, length >> 8}) {
      bytes_.push_back(static_cast<std::byte>(byte));
    }
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// A packet from the peer of a queue pair, in sequence unless its PSN says otherwise.
  Script& packet(const Bytes& bytes, std::uint8_t choice = 0, std::uint8_t more_flags = 0) {
    return step(Step::kPacket | Step::kQueuePair | Step::kSequence | Step::kRemoteKey | more_flags, choice,
                bytes);
  }
  /// The same for a run of packets whose MTU has the given code in device_script.h.
  Script& run(const Bytes& bytes, std::uint8_t choice = 0, std::uint8_t mtu = kRunOf1024) {
    return step(Step::kPacket | Step::kQueuePair | Step::kSequence | Step::kRemoteKey, choice, bytes, mtu);
  }
  /// A step whose bytes do not count, only their number: the length of the posted message follows from it.
  Script& post(std::uint8_t flags, std::uint8_t choice, std::size_t size_index) {
    return step(flags, choice, Bytes(size_index, std::byte{0}));
  }
  /// What the program asks for, one after the other.
  struct Asked {
    Call::Kind kind;
    std::uint8_t which = 0;
    std::uint8_t first = 0;
    std::uint8_t second = 0;
  };
  Script& calls(const std::vector<Asked>& all) {
    Bytes bytes;
    for (const auto& [kind, which, first, second] : all) {
      for (const std::uint8_t byte : {static_cast<std::uint8_t>(kind), which, first, second}) {
        bytes.push_back(std::byte{byte});
      }
    }
    return step(Step::kCalls, 0, bytes);
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

Bytes packet_of(Packet packet, std::size_t payload_bytes = 0) {
  packet.bth.pad_count = pad_bytes(payload_bytes);
  packet.bth.ack_request = true;
  Bytes bytes(header_bytes(packet.bth.opcode) + payload_bytes + packet.bth.pad_count, std::byte{0x5a});
  emit_headers(packet, bytes);
  std::fill_n(bytes.rbegin(), packet.bth.pad_count, std::byte{0});
  return bytes;
}

Bytes request(Opcode opcode, std::size_t payload_bytes, std::int32_t psn_offset = 0) {
  return packet_of({.bth = {.opcode = opcode, .psn = Psn(static_cast<std::uint32_t>(psn_offset))}},
                   payload_bytes);
}
/// WRITE and READ: the address is an offset in the region, the key chooses the region.
Bytes rdma(Opcode opcode, std::uint32_t length, std::size_t payload_bytes, std::uint64_t offset = 0x100,
           std::uint32_t key = 0) {
  return packet_of({.bth = {.opcode = opcode},
                    .reth = {.address = offset, .rkey = transport::Rkey{key}, .length = length}},
                   payload_bytes);
}
/// A response to the last packet sent, or to one before it.
Bytes response(Opcode opcode, std::uint8_t syndrome, std::size_t payload_bytes = 0,
               std::int32_t psn_offset = 0) {
  return packet_of({.bth = {.opcode = opcode, .psn = Psn(static_cast<std::uint32_t>(psn_offset))},
                    .aeth = {.syndrome = syndrome, .msn = 1}},
                   payload_bytes);
}

Script sends() {
  Script script;
  for (std::size_t i = 0; i < 4; ++i) script.post(Step::kPostReceive, on_qp(0), 5);
  script.packet(request(Opcode::kRcSendOnly, 0)).packet(request(Opcode::kRcSendOnlyWithImmediate, 5));
  script.packet(request(Opcode::kRcSendFirst, kMtu)).packet(request(Opcode::kRcSendMiddle, kMtu));
  script.packet(request(Opcode::kRcSendLast, 7)).packet(request(Opcode::kRcSendOnly, 64));
  return script;
}

Script sends_that_are_refused() {
  Script script;
  script.packet(request(Opcode::kRcSendOnly, 64), on_qp(0));      // no receive: RNR NAK
  script.packet(request(Opcode::kRcSendOnly, 64, 3), on_qp(0));   // a gap
  script.packet(request(Opcode::kRcSendOnly, 64, -1), on_qp(0));  // a duplicate
  script.post(Step::kPostReceive, on_qp(0), 2)
      .packet(request(Opcode::kRcSendOnly, 64), on_qp(0, kHundredMicroseconds));
  script.packet(request(Opcode::kRcSendOnlyWithInvalidate, 8), on_qp(1));
  script.post(Step::kPostReceive, on_qp(2), 1)
      .packet(request(Opcode::kRcSendOnly, 300), on_qp(2));  // too long
  script.packet(request(Opcode::kRcSendMiddle, kMtu), on_qp(1, 0))
      .packet(request(Opcode::kRcSendFirst, 9), on_qp(1));
  return script;
}

Script writes() {
  Script script;
  script.packet(rdma(Opcode::kRcWriteOnly, 5, 5)).packet(rdma(Opcode::kRcWriteOnly, 0, 0));
  script.packet(rdma(Opcode::kRcWriteFirst, 2 * kMtu + 100, kMtu))
      .packet(request(Opcode::kRcWriteMiddle, kMtu));
  script.packet(request(Opcode::kRcWriteLast, 100));
  script.post(Step::kPostReceive, on_qp(0), 0).packet(rdma(Opcode::kRcWriteOnlyWithImmediate, 8, 8));
  script.packet(rdma(Opcode::kRcWriteOnly, 64, 64, 0x3ff0), on_qp(1));    // over the end of the region
  script.packet(rdma(Opcode::kRcWriteOnly, 64, 64, 0x100, 1), on_qp(2));  // where only reading is allowed
  return script;
}

Script reads() {
  Script script;
  script.packet(rdma(Opcode::kRcReadRequest, 16, 0)).packet(rdma(Opcode::kRcReadRequest, 0, 0));
  script.packet(rdma(Opcode::kRcReadRequest, 5000, 0))
      .packet(rdma(Opcode::kRcReadRequest, 5000, 0, 0x100, 1));
  Bytes again = rdma(Opcode::kRcReadRequest, 5000, 0, 0x100, 1);
  again[9] = again[10] = std::byte{0xff};  // five packets back
  again[11] = std::byte{0xfb};
  script.packet(again).packet(rdma(Opcode::kRcReadRequest, 0x7fffffff, 0));
  script.packet(rdma(Opcode::kRcCompareSwap, 0, 0), on_qp(1)).packet(request(Opcode::kRcFlush, 0), on_qp(1));
  return script;
}

Script acknowledgements() {
  Script script;
  for (const std::uint8_t operation : {kSend, kWrite, kInlineSend}) {
    script.post(Step::kPostSend, on_qp(0, 0, operation), 2);
  }
  script.packet(response(Opcode::kRcAcknowledge, 0x1f, 0, -1));  // the first two
  script.packet(response(Opcode::kRcAcknowledge, 0x21));         // RNR NAK
  script.packet(response(Opcode::kRcAcknowledge, 0x1f), on_qp(0, kFiftyMilliseconds));
  script.post(Step::kPostSend, on_qp(0, 0, kSend), 6).packet(response(Opcode::kRcAcknowledge, 0x60, 0, -10));
  script.packet(response(Opcode::kRcAcknowledge, 0x1f, 0, 5));  // beyond what was sent
  script.packet(response(Opcode::kRcAcknowledge, 0x62));        // remote access error
  return script;
}

Script read_responses() {
  Script script;
  script.post(Step::kPostSend, on_qp(0, 0, kRead), 2);
  script.packet(response(Opcode::kRcReadResponseOnly, 0x1f, 100));
  script.post(Step::kPostSend, on_qp(0, 0, kRead), 5);
  script.packet(response(Opcode::kRcReadResponseFirst, 0x1f, kMtu, -2));
  script.packet(response(Opcode::kRcReadResponseMiddle, 0, kMtu, -1));
  script.packet(response(Opcode::kRcReadResponseLast, 0x1f, 3000 - 2 * kMtu));
  script.post(Step::kPostSend, on_qp(1, 0, kRead), 5);
  script.packet(response(Opcode::kRcReadResponseLast, 0x1f, 4), on_qp(1));  // out of order
  script.packet(response(Opcode::kRcReadResponseFirst, 0x1f, 12, -2), on_qp(1));
  return script;
}

Script runs() {
  Script script;
  script.run(rdma(Opcode::kRcWriteOnly, 2 * kMtu + 7, 2 * kMtu + 7));
  script.run(rdma(Opcode::kRcWriteFirst, 7000, 3 * kMtu)).run(request(Opcode::kRcWriteMiddle, 2 * kMtu));
  script.run(request(Opcode::kRcWriteLast, 7000 - 5 * kMtu));
  script.post(Step::kPostReceive, on_qp(0), 5).run(request(Opcode::kRcSendOnlyWithImmediate, 2 * kMtu + 5));
  script.run(request(Opcode::kRcSendOnly, 2 * kMtu));     // no receive
  script.run(request(Opcode::kRcSendOnly, 2 * kMtu, 5));  // a gap
  script.run(rdma(Opcode::kRcWriteOnly, 2 * kMtu, 2 * kMtu), on_qp(0), kRunOf256);
  script.run(rdma(Opcode::kRcWriteOnly, 3 * kMtu, 3 * kMtu, 0x3ff0), on_qp(1));  // over the end of the region
  script.post(Step::kPostSend, on_qp(2, 0, kRead), 5);
  script.run(response(Opcode::kRcReadResponseOnly, 0x1f, 3000, -2), on_qp(2));
  script.run(request(Opcode::kUdSendOnly, 3000), on_qp(1)).run(request(Opcode::kRcAcknowledge, 0), on_qp(2));
  return script;
}

Script silence() {
  Script script;
  for (std::uint8_t qp = 0; qp < 3; ++qp) {
    script.post(Step::kPostSend, on_qp(qp, 0, qp == 1 ? kRead : kSend), 3);
  }
  for (int i = 0; i < 8; ++i) script.post(0, on_qp(0, kFiftyMilliseconds), 0);
  script.post(Step::kReconnect | Step::kPostSend, on_qp(0), 2).packet(response(Opcode::kRcAcknowledge, 0x1f));
  return script;
}

// The queue pairs of DeviceRig after the first three, and arguments of calls.
constexpr std::uint8_t kUcQp = 3;
constexpr std::uint8_t kUdQp = 4;
constexpr std::uint8_t kInitiatorQp = 5;
constexpr std::uint8_t kTargetQp = 6;
constexpr std::uint8_t kSharingQp = 7;
constexpr std::uint8_t kSelected = 3;
constexpr std::uint8_t kEightBytes = 2;  // lengths of device_calls.cc
constexpr std::uint8_t kFourKilobytes = 11;
constexpr std::uint8_t kMoreThanThat = 12;
constexpr std::uint8_t kToSqDrained = 4;  // states of libibverbs
constexpr std::uint8_t kToRts = 3;
constexpr std::uint8_t kToError = 6;

/// The WRITE or READ by the key of a window: the first or the second.
Bytes through_window(Opcode opcode, std::size_t window, std::uint32_t length, std::size_t payload_bytes) {
  return rdma(opcode, length, payload_bytes, 0x100, static_cast<std::uint32_t>(2 * (2 + window)));
}

Bytes atomic(Opcode opcode) {
  return packet_of(
      {.bth = {.opcode = opcode}, .atomic = {.address = 0x100, .rkey = {}, .swap_or_add = 5, .compare = 7}});
}

/// Every operation on one queue pair, each of which is acknowledged at once.
Script all_operations(std::uint8_t qp, Service service) {
  Script script;
  script.calls({{Call::Kind::kSelect, qp}});
  for (std::uint8_t operation = 0; operation < 12; ++operation) {
    script.calls({{Call::Kind::kPostSend, qp, operation, kEightBytes}});
    const bool reads = operation == 5 || operation == 8 || operation == 9;
    const Opcode opcode = reads                              ? Opcode::kRcReadResponseOnly
                          : operation == 6 || operation == 7 ? Opcode::kRcAtomicAcknowledge
                                                             : Opcode::kRcAcknowledge;
    script.packet(response(with_service(opcode, service), 0x1f, operation == 5 ? 8 : 0), on_qp(kSelected));
  }
  return script;
}

Script windows() {
  Script script;
  script.calls({{Call::Kind::kPostSend, 0, 11, kFourKilobytes},
                {Call::Kind::kPostSend, 0, 11, 0x10 | kFourKilobytes}});
  script.packet(through_window(Opcode::kRcWriteOnly, 0, 64, 64))
      .packet(through_window(Opcode::kRcReadRequest, 1, 64, 0));
  script.calls({{Call::Kind::kPostSend, 0, 10, 0x10}});  // LOCAL_INV of the second
  script.packet(through_window(Opcode::kRcReadRequest, 1, 64, 0));
  script.calls(
      {{Call::Kind::kReconnect, 0}, {Call::Kind::kRenewWindow, 0, 1}, {Call::Kind::kRenewSecondKey}});
  script.calls({{Call::Kind::kPostSend, 0, 11, 0x10 | kFourKilobytes}, {Call::Kind::kPostReceive, 0, 5}});
  script.packet(request(Opcode::kRcSendOnlyWithInvalidate, 8));
  return script;
}

Script answered_operations() {
  Script script;
  for (const Opcode opcode : {Opcode::kRcCompareSwap, Opcode::kRcFetchAdd}) script.packet(atomic(opcode));
  script.packet(rdma(Opcode::kRcAtomicWrite, 8, 8))
      .packet(packet_of({.bth = {.opcode = Opcode::kRcFlush},
                         .reth = {.address = 0x100, .length = 64},
                         .feth = {.placement_type = 1}}));
  Bytes again = atomic(Opcode::kRcFetchAdd);
  again[9] = again[10] = std::byte{0xff};
  again[11] = std::byte{0xfd};  // three packets back
  return script.packet(again);
}

Script unreliable() {
  Script script;
  const auto uc = [](Opcode opcode) { return with_service(opcode, Service::kUc); };
  script.calls({{Call::Kind::kSelect, kUcQp},
                {Call::Kind::kPostReceive, kUcQp, 10},
                {Call::Kind::kPostReceive, kUcQp, 10}});
  script.packet(request(uc(Opcode::kRcSendFirst), kMtu), on_qp(kSelected));
  script.packet(request(uc(Opcode::kRcSendMiddle), kMtu, 1), on_qp(kSelected));  // a gap
  script.packet(request(uc(Opcode::kRcSendOnly), 40), on_qp(kSelected));
  script.packet(rdma(uc(Opcode::kRcWriteFirst), kMtu + 4, kMtu), on_qp(kSelected));
  script.packet(request(uc(Opcode::kRcWriteLastWithImmediate), 4), on_qp(kSelected));
  script.calls(
      {{Call::Kind::kPostSend, kUcQp, 0, kFourKilobytes}, {Call::Kind::kPostSend, kUcQp, 4, kEightBytes}});
  return script;
}

Script datagrams() {
  Script script;
  script.calls({{Call::Kind::kSelect, kUdQp},
                {Call::Kind::kPostReceive, kUdQp, 10},
                {Call::Kind::kJoinGroup, kUdQp},
                {Call::Kind::kPostReceive, kUdQp, 3},
                {Call::Kind::kPostReceive, kUdQp, 10}});
  script.packet(request(Opcode::kUdSendOnly, 100), on_qp(kSelected));
  script.packet(request(Opcode::kUdSendOnlyWithImmediate, 0), on_qp(kSelected), Step::kToGroup);
  script.calls({{Call::Kind::kLeaveGroup, kUdQp}, {Call::Kind::kJoinGroup, kUcQp}});
  script.packet(request(Opcode::kUdSendOnly, 8), on_qp(kSelected), Step::kToGroup);
  // Too long: SQE, in which everything is flushed, and back.
  script.calls({{Call::Kind::kPostSend, kUdQp, 0, kEightBytes},
                {Call::Kind::kPostSend, kUdQp, 1, kMoreThanThat},
                {Call::Kind::kPostSend, kUdQp, 0, kEightBytes},
                {Call::Kind::kModify, kUdQp, kToRts},
                {Call::Kind::kRenewAddress, 0, 1},
                {Call::Kind::kPostSend, kUdQp, 0, 0x10 | kEightBytes}});
  return script;
}

Script xrc() {
  Script script;
  const auto over_xrc = [](Opcode opcode) { return with_service(opcode, Service::kXrc); };
  script.calls({{Call::Kind::kSelect, kTargetQp},
                {Call::Kind::kPostShared, 1, 5},
                {Call::Kind::kPostShared, 2, 5},
                {Call::Kind::kArmLimit, 1, 1},
                {Call::Kind::kArmLimit, 2, 200}});
  script.packet(request(over_xrc(Opcode::kRcSendOnly), 8), on_qp(kSelected));
  script.packet(packet_of({.bth = {.opcode = over_xrc(Opcode::kRcSendOnly)}, .xrc_srq = 1}, 8),
                on_qp(kSelected));
  script.packet(request(over_xrc(Opcode::kRcSendOnly), 8), on_qp(kSelected));  // no receive: RNR NAK
  script.packet(rdma(over_xrc(Opcode::kRcWriteOnly), 8, 8), on_qp(kSelected));
  script.packet(rdma(over_xrc(Opcode::kRcReadRequest), 3000, 0), on_qp(kSelected));
  script.packet(atomic(over_xrc(Opcode::kRcFetchAdd)), on_qp(kSelected));
  script.calls({{Call::Kind::kRenewSharedQueue, 1},
                {Call::Kind::kRenewQueuePair, kTargetQp},
                {Call::Kind::kReconnect, kTargetQp}});
  return script.packet(request(over_xrc(Opcode::kRcSendOnly), 8), on_qp(kSelected));
}

Script shared_receives() {
  Script script;
  script.calls({{Call::Kind::kSelect, kSharingQp},
                {Call::Kind::kPostShared, 0, 10},
                {Call::Kind::kPostShared, 0, 10},
                {Call::Kind::kArmLimit, 0, 2},
                {Call::Kind::kPostReceive, kSharingQp, 10},
                {Call::Kind::kRenewSharedQueue, 0}});
  script.packet(request(Opcode::kRcSendFirst, kMtu), on_qp(kSelected));
  script.calls({{Call::Kind::kModify, kSharingQp, kToError}, {Call::Kind::kReconnect, kSharingQp}});
  return script.packet(request(Opcode::kRcSendOnly, 100), on_qp(kSelected));
}

/// SQD with work under way and more work after it; then every state on every queue pair, with attributes left
/// out.
Script states() {
  Script script;
  script.calls({{Call::Kind::kPortRoom, 0, 1},
                {Call::Kind::kPostSend, 0, 0, kFourKilobytes},
                {Call::Kind::kModify, 0, kToSqDrained},
                {Call::Kind::kPostSend, 0, 0x40 | 5, kEightBytes},
                {Call::Kind::kPortRoom, 0, 8}});
  script.packet(response(Opcode::kRcAcknowledge, 0x1f))
      .calls({{Call::Kind::kModify, 0, kToRts}, {Call::Kind::kPass, 0, 6}});
  for (std::uint8_t qp = 0; qp < 8; ++qp) {
    std::vector<Script::Asked> all;
    for (std::uint8_t state = 0; state < 7; ++state) {
      for (const std::uint8_t left_out : {std::uint8_t{0}, std::uint8_t{0xff}}) {
        all.push_back({Call::Kind::kModify, qp, state, left_out});
        all.push_back({Call::Kind::kPostSend, qp, state, 0});
      }
    }
    script.calls(all).calls({{Call::Kind::kReconnect, qp}});
  }
  return script;
}

/// Frames of a capture as they are, with their checksums made right again after a change.
Script frames_of(const std::vector<CapturedFrame>& frames) {
  Script script;
  for (const CapturedFrame& frame : frames) {
    if (script.bytes().size() + frame.bytes.size() < kLongestScript) {
      script.step(Step::kRepair, 0, frame.bytes);
    }
  }
  return script;
}

/// The RC requests of a capture, at one of our queue pairs, with the gaps and repeats in their PSNs.
Script requests_of(const std::vector<CapturedFrame>& frames) {
  Script script;
  std::optional<Psn> expected;
  std::optional<Gid> requester;
  for (const CapturedFrame& captured : frames) {
    const auto frame = parse_frame(captured.bytes);
    const auto parsed = frame ? parse_packet(frame.value().ib) : ParseError::kTruncated;
    const bool is_ours = parsed && service(parsed.value().bth.opcode) == Service::kRc &&
                         parsed.value().info->is_request &&
                         requester.value_or(frame.value().source_gid()) == frame.value().source_gid();
    if (!is_ours) continue;
    if (script.bytes().size() + captured.bytes.size() > kLongestScript) break;
    const Packet& packet = parsed.value();
    requester = frame.value().source_gid();
    const std::int32_t offset = distance(expected.value_or(packet.bth.psn), packet.bth.psn);
    const std::size_t psns = packet.info->operation == Operation::kReadRequest
                                 ? std::max<std::size_t>(1, (packet.reth.length + kMtu - 1) / kMtu)
                                 : 1;
    if (offset >= 0) expected = packet.bth.psn + static_cast<std::uint32_t>(psns);
    Bytes bytes(frame.value().ib.begin(), frame.value().ib.end());
    Bth bth = packet.bth;
    bth.psn = Psn(static_cast<std::uint32_t>(offset));
    emit(bth, bytes);
    if (has(packet.info->headers, Headers::kReth)) {
      const Reth reth{.address = 0x100, .rkey = {}, .length = packet.reth.length};
      emit(reth, std::span(bytes).subspan(Bth::kBytes));
    }
    const Operation operation = packet.info->operation;
    if (operation == Operation::kSend && packet.info->begins_message()) {
      script.post(Step::kPostReceive, on_qp(0), 6);
    }
    const bool is_refused = operation != Operation::kSend && operation != Operation::kWrite &&
                            operation != Operation::kReadRequest;
    script.packet(bytes, on_qp(0), is_refused ? Step::kReconnect : std::uint8_t{0});
  }
  return script;
}

bool write(const fs::path& path, const Script& script) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(script.bytes().data()),
             static_cast<std::streamsize>(script.bytes().size()));
  return file.good();
}

int write_all(const fs::path& fixtures, const fs::path& folder) {
  bool written = write(folder / "made_sends.bin", sends()) &&
                 write(folder / "made_refused_sends.bin", sends_that_are_refused()) &&
                 write(folder / "made_writes.bin", writes()) && write(folder / "made_reads.bin", reads()) &&
                 write(folder / "made_acknowledgements.bin", acknowledgements()) &&
                 write(folder / "made_read_responses.bin", read_responses()) &&
                 write(folder / "made_runs.bin", runs()) && write(folder / "made_silence.bin", silence()) &&
                 write(folder / "made_rc_operations.bin", all_operations(0, Service::kRc)) &&
                 write(folder / "made_xrc_operations.bin", all_operations(kInitiatorQp, Service::kXrc)) &&
                 write(folder / "made_answered_operations.bin", answered_operations()) &&
                 write(folder / "made_windows.bin", windows()) &&
                 write(folder / "made_unreliable.bin", unreliable()) &&
                 write(folder / "made_datagrams.bin", datagrams()) && write(folder / "made_xrc.bin", xrc()) &&
                 write(folder / "made_shared_receives.bin", shared_receives()) &&
                 write(folder / "made_states.bin", states());
  for (const std::string name : {"arp_nd_linux", "vs_ud_ipv6"}) {
    written = written && write(folder / (name + "_frames.bin"),
                               frames_of(read_pcap(fixtures / (name + ".pcap")).value()));
  }
  for (const std::string name :
       {"vs_atomics", "vs_duplicate", "vs_imm_inv", "vs_loss_requests", "vs_rnr", "vs_sizes"}) {
    written = written && write(folder / (name + "_requests.bin"),
                               requests_of(read_pcap(fixtures / (name + ".pcap")).value()));
  }
  return written ? 0 : 1;
}

}  // namespace
}  // namespace urnic::test

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_device_corpus FIXTURES FOLDER\n");
    return 2;
  }
  return urnic::test::write_all(argv[1], argv[2]);
}
