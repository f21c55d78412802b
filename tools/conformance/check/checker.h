// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Checks a capture frame by frame.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tools/conformance/check/capture_reader.h"
#include "tools/conformance/check/congestion/notifications.h"
#include "tools/conformance/check/congestion/pauses.h"
#include "tools/conformance/check/congestion/policy.h"
#include "tools/conformance/check/connections.h"
#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/port_hints.h"
#include "tools/conformance/check/unwrapping/doubles.h"
#include "tools/conformance/check/unwrapping/unwrapper.h"

namespace urnic::check {

struct CheckOptions {
  Policy policy{};
  CongestionPolicy congestion{};
  Keeping keeping{};
  UdpPorts udp_ports{};
  bool is_mirrored = false;  ///< it is known that a mirror delivers frames twice
};

struct FrameCounts {
  std::uint64_t frames = 0;
  std::uint64_t roce_v2 = 0;
  std::uint64_t roce_v1 = 0;
  std::uint64_t copies = 0;     ///< that a mirror delivered a second time; they are not judged
  std::uint64_t fragments = 0;  ///< of datagrams of which something was still to come
  std::uint64_t others = 0;
  std::array<std::uint64_t, kObstacles> not_looked_into{};  ///< of the others, by Obstacle
  std::array<std::uint64_t, kWrappings> wrapped{};          ///< of the RoCE frames, by Wrapping
  std::uint64_t late = 0;                                   ///< frames that are older than one before them
  std::uint64_t bytes = 0;                                  ///< on the wire, of all frames
  std::uint64_t icrc_right = 0;
  std::uint64_t icrc_wrong = 0;
  std::uint64_t icrc_unknown = 0;  ///< cut frames, and lengths that leave no ICRC
  std::uint64_t cnps = 0;
  std::uint64_t ecn_marked = 0;  ///< frames with ECN "congestion experienced"
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;

  std::uint64_t roce() const { return roce_v1 + roce_v2; }
};

/// The result of checking a frame's ICRC.
enum class IcrcResult : std::uint8_t { kNotRoce, kRight, kWrong, kUnknown };

/// Takes the frames of one capture in their order. Memory is bounded, whatever they hold.
class Checker {
 public:
  explicit Checker(const CheckOptions& options)
      : findings_(options.policy),
        connections_(findings_, options.keeping),
        notifications_(findings_, options.congestion),
        pauses_(findings_, options.congestion),
        doubles_(options.is_mirrored),
        udp_ports_(options.udp_ports),
        is_choice_(options.keeping.shown != nullptr) {}
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  IcrcResult add(LinkType link_type, const RawFrame& raw);
  /// No frame follows: judges what was left open. Once.
  void finish();
  /// The capture lacks frames from here on: nothing follows from what is absent.
  void set_lossy() { findings_.set_lossy(); }

  /// The RoCE packet of the frame that was added last, with the bytes that it is in, until the next one is
  /// added; null if it has none, or if it was a copy.
  const Unwrapped* latest() const { return has_packet_ ? &latest_ : nullptr; }

  const FrameCounts& counts() const { return counts_; }
  const Findings& findings() const { return findings_; }
  const Connections& connections() const { return connections_; }
  /// Whether the user chose some flows, so that others are left out of the report.
  bool is_choice() const { return is_choice_; }
  const Notifications& notifications() const { return notifications_; }
  const Pauses& pauses() const { return pauses_; }
  const PortHints& port_hints() const { return port_hints_; }
  const Fragments& fragments() const { return unwrapper_.fragments(); }

 private:
  IcrcResult leave_out();
  bool is_misdirected_roce(const Frame& frame) const;
  IcrcResult take_roce(const Frame& frame, const RawFrame& raw);
  IcrcResult judge(const Frame& frame, const RawFrame& raw);
  /// Says what is missing of a cut frame. False if that is so much that nothing can be followed.
  bool judge_cut(const Frame& frame, const RawFrame& raw, std::uint32_t flow);
  void follow(std::uint32_t flow, const Seen& seen);
  bool exceeds_wire(const Frame& frame, const RawFrame& raw) const;

  FrameCounts counts_;
  Findings findings_;
  Connections connections_;
  Notifications notifications_;
  Pauses pauses_;
  Unwrapper unwrapper_;
  Unwrapped latest_;
  bool has_packet_ = false;
  Doubles doubles_;
  PortHints port_hints_;
  UdpPorts udp_ports_;
  bool is_choice_;
};

}  // namespace urnic::check
