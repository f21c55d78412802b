// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// WireView: a RoCEv2 frame as the wire observer reads it.
//
// It reads as `urnic check` does, which shares no code with transport/wire: a misunderstanding there is
// not confirmed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace urnic::sim {

enum class PacketKind : std::uint8_t {
  kSend,
  kWrite,
  kReadRequest,
  kAtomic,
  kFlush,
  kAtomicWrite,
  kReadResponse,
  kAtomicAcknowledge,
  kAcknowledge,
};
inline constexpr std::size_t kPacketKinds = 9;

/// The top three bits of an opcode.
enum class WireService : std::uint8_t { kRc = 0x00, kUc = 0x20, kUd = 0x60, kXrc = 0xa0 };

struct WireView {
  // BTH.
  std::uint8_t opcode = 0;
  std::uint32_t destination_qp = 0;
  std::uint32_t psn = 0;
  bool ack_request = false;
  bool solicited = false;

  // What the opcode says.
  WireService service = WireService::kRc;
  PacketKind kind = PacketKind::kSend;
  bool is_first = false;  ///< FIRST or ONLY
  bool is_last = false;   ///< LAST or ONLY
  bool has_reth = false;
  bool has_aeth = false;
  bool has_atomic_eth = false;
  bool has_immediate = false;
  bool has_invalidate = false;
  bool is_selective_nak = false;  ///< of selective repeat: see transport/rc/recovery/SELECTIVE_REPEAT.md

  // RETH or AtomicETH.
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  // AETH and AtomicAckETH.
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
  std::uint64_t original = 0;

  std::uint32_t xrc_srq = 0;  ///< XRCETH
  std::uint32_t immediate = 0;
  std::uint32_t invalidated_rkey = 0;
  std::uint32_t qkey = 0;  // DETH
  std::uint32_t source_qp = 0;
  std::uint32_t flush = 0;               ///< FETH: selectivity in bits 5-4, type in bits 3-0
  std::span<const std::byte> payload{};  ///< of a selective NAK: which packets are held, a bit each

  /// Whether it is acknowledged: RC and XRC, which differ in the XRCETH of requests alone.
  bool is_reliable() const { return service == WireService::kRc || service == WireService::kXrc; }
  bool is_request() const { return kind < PacketKind::kReadResponse; }
  /// A request that is answered by more than an acknowledgement.
  bool wants_response() const { return is_request() && kind >= PacketKind::kReadRequest; }
  /// An acknowledgement or a NAK; responses carry an AETH too.
  bool is_ack() const { return has_aeth && syndrome >> 5 == 0; }
  bool is_rnr_nak() const { return has_aeth && syndrome >> 5 == 1; }
  bool is_sequence_nak() const { return has_aeth && syndrome == 0x60; }
  bool is_error_nak() const { return has_aeth && syndrome > 0x60; }

  /// Of a selective NAK: how far ahead of its PSN a packet may be held.
  static constexpr std::uint32_t kHeldPackets = 256;
  /// Whether a selective NAK says that the packet is held which is `ahead` of its PSN, from 1 to
  /// kHeldPackets.
  bool holds(std::uint32_t ahead) const {
    const std::byte bits = payload[(ahead - 1) / 8];
    return (bits >> ((ahead - 1) % 8) & std::byte{1}) != std::byte{0};
  }
};

/// Whether the frame claims to be RoCEv2: IPv4 or IPv6, UDP, port 4791. Others are ARP and neighbor
/// discovery.
bool is_roce(std::span<const std::byte> frame);

/// Reads a frame for which is_roce(). With `complaint` it checks all that a sender must get right and sets
/// *complaint to the first thing that is wrong: lengths, padding, checksums, reserved and fixed fields, the
/// ICRC. Nothing when the frame is not readable.
std::optional<WireView> read_frame(std::span<const std::byte> frame, std::string* complaint = nullptr);

std::string_view to_string(PacketKind kind);
/// "RC WRITE Middle psn 0x12345 qp 0x11 256 B".
std::string to_string(const WireView& view);

}  // namespace urnic::sim
