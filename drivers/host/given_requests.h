// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// GivenRequests: which process was given which connection request lately.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace urnic::drivers {

/// Names a request; the same for each repetition of it. For a REQ: the sender's GUID and its communication
/// id. For a SIDR_REQ, which has no GUID: the end of the sender's GID and its request id, as in
/// cm::CommunicationManager.
struct RequestName {
  std::uint64_t sender = 0;
  std::uint32_t id = 0;
  bool is_for_datagrams = false;

  friend bool operator<(const RequestName& one, const RequestName& other) {
    return std::tie(one.sender, one.id, one.is_for_datagrams) <
           std::tie(other.sender, other.id, other.is_for_datagrams);
  }
};

/// A peer asks again when an answer is lost, and only the process that gave the answer can give it again,
/// whether it listens by then or not. Time is an argument.
class GivenRequests {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Linux' rdma_cm asks 16 times, every 4.3 s (fact 45).
  static constexpr auto kMemory = std::chrono::seconds(70);
  /// More forget the oldest.
  static constexpr std::size_t kMost = 4096;

  void note(const RequestName& name, unsigned slot, Time now);
  std::optional<unsigned> find(const RequestName& name, Time now);
  /// The process has ended.
  void forget(unsigned slot);

 private:
  void forget_old(Time now);

  std::map<RequestName, unsigned> slots_;
  std::deque<std::pair<RequestName, Time>> order_;  // in which they were noted, with the end of each
};

}  // namespace urnic::drivers
