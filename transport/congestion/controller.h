// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Controller: decides how fast one queue pair sends, from what the network tells it.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "transport/congestion/rate.h"
#include "transport/time.h"

namespace urnic::transport::congestion {

struct Choice;

inline constexpr std::uint32_t kUnlimitedBytes = std::numeric_limits<std::uint32_t>::max();

/// What a queue pair may send now.
struct Allowance {
  BitsPerSecond rate = kUnlimited;
  std::uint32_t window_bytes = kUnlimitedBytes;  ///< in flight
};

enum class ControllerKind : std::uint8_t { kDcqcn, kTimely, kSwift, kFixed };

/// "" for what is none.
constexpr std::string_view name_of(ControllerKind kind) {
  using enum ControllerKind;
  switch (kind) {
    case kDcqcn:
      return "dcqcn";
    case kTimely:
      return "timely";
    case kSwift:
      return "swift";
    case kFixed:
      return "fixed";
  }
  return "";
}

/// What people are shown; zero is what a controller does not have.
struct ControllerState {
  ControllerKind kind{};
  Allowance allowance;
  BitsPerSecond target_rate = 0;
  std::uint32_t alpha_ppm = 0;  ///< DCQCN's, in millionths
  Duration round_trip{};        ///< the last one that was measured
};

/// Sans-I/O, and without timers: what happens as time goes by is caught up with at the next call. Time never
/// goes back from one call to the next. Requests are counted, and responses with data; what is sent again
/// counts again.
class Controller {
 public:
  virtual ~Controller() = default;

  /// A request packet, or a packet of a READ's data, of so many bytes leaves.
  virtual void on_send(std::uint32_t /*bytes*/, Time /*now*/) {}
  /// A request that asked for it was acknowledged, after so long.
  virtual void on_ack(Duration /*round_trip*/, Time /*now*/) {}
  /// A CNP came. Whether this controller obeys them.
  virtual bool on_cnp(Time /*now*/) { return false; }
  /// The peer missed a packet.
  virtual void on_nak(Time /*now*/) {}
  /// The peer did not acknowledge in time.
  virtual void on_timeout(Time /*now*/) {}

  /// From now on the controller uses the parameters and the line rate of `choice`, if that is of its kind;
  /// otherwise it keeps its own. Its state stays: alpha, stages and measurements, the next tick of each timer
  /// (the new periods begin after it), and the rate or window, as far as the new limits let it.
  virtual void update(const Choice& choice, Time now) = 0;

  virtual Allowance allowance(Time now) = 0;
  virtual ControllerState state(Time now) = 0;

  /// For people: the last one that was measured. It is kept here because queue pairs without a controller
  /// measure none.
  void note_round_trip(Duration round_trip) { round_trip_ = round_trip; }
  Duration round_trip() const { return round_trip_; }

 private:
  Duration round_trip_{};
};

}  // namespace urnic::transport::congestion
