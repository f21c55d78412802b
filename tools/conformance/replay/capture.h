// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A capture in memory, taken apart into conversations whose sides can be played.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/conformance/check/capture_reader.h"
#include "tools/conformance/check/connections.h"
#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/packets/frame.h"
#include "tools/conformance/check/packets/packet.h"

namespace urnic::replay {

/// One RoCEv2 packet that a receiver would look at: its ICRC is right and the capture has all of it.
struct CapturedPacket {
  std::uint64_t number = 0;  ///< of its frame, from 1 on
  std::int64_t time_ns = 0;  ///< since 1970
  std::vector<std::byte> bytes{};
  check::Frame frame{};    ///< points into `bytes`
  check::Packet packet{};  ///< likewise
  std::uint32_t flow = 0;
  /// The network delivered the frame before this one once more (same IP identification, same ICRC).
  bool is_copy = false;

  /// BTH to padding, as the transport takes it.
  std::span<const std::byte> ib() const { return frame.ib.first(frame.ib_bytes - check::kIcrcBytes); }
};

/// What cannot be played at all, and why; for people.
struct LeftOut {
  std::uint64_t frame = 0;
  std::string reason;
};

/// The frames of one capture. Bounded: beyond the limits nothing more is taken and is_full() says so.
class Capture {
 public:
  static constexpr std::size_t kMostFrames = 1'000'000;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;

  Capture() : findings_(check::Policy{}), connections_(findings_, {}) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void add(check::LinkType link_type, const check::RawFrame& raw);
  bool is_full() const { return frames_ >= kMostFrames || bytes_ >= kMostBytes; }

  std::uint64_t frames() const { return frames_; }
  const std::vector<CapturedPacket>& packets() const { return packets_; }
  /// Frames on the RoCE port that no packet was made of; at most kMostLeftOut of them are kept.
  const std::vector<LeftOut>& left_out() const { return left_out_; }
  std::uint64_t left_out_count() const { return left_out_count_; }
  const check::Connections& connections() const { return connections_; }

 private:
  static constexpr std::size_t kMostLeftOut = 20;
  /// Enough of the latest frames of a flow to know one again.
  struct Imprints {
    struct Imprint {
      std::uint32_t icrc = 0;
      std::uint16_t ip_id = 0;
    };
    std::array<Imprint, 8> latest{};
    std::size_t next = 0;
    bool ids_vary = false;
    bool has_any = false;
  };

  void leave_out(std::uint64_t frame, std::string reason);
  static bool is_network_copy(Imprints& imprints, const check::Frame& frame, std::uint32_t icrc);

  check::Findings findings_;
  check::Connections connections_;
  std::vector<Imprints> imprints_;  // by flow
  std::vector<CapturedPacket> packets_;
  std::vector<LeftOut> left_out_;
  std::uint64_t left_out_count_ = 0;
  std::uint64_t frames_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace urnic::replay
