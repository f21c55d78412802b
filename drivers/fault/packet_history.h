// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PacketHistory: which queue pairs packets went to, and which of their PSNs were there before.
#pragma once

#include <array>
#include <boost/container/flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// Which way a packet goes, seen from the NIC that a port belongs to.
enum class Way : std::uint8_t { kSent, kReceived };

/// What a packet is in the exchange of its connection.
enum class Part : std::uint8_t {
  kRequest,
  kAnswer,
  kNeither,  ///< a CNP, whose PSN means nothing
};

/// A packet on the wire names only the queue pair that it goes to, and its PSN. Both directions of a
/// connection still belong together: an answer has the PSN of a request that went the other way, between the
/// same addresses. A flow is all that goes one way to one queue pair. Bounded; nothing allocates after
/// construction.
class PacketHistory {
 public:
  /// Of one way. Packets to more queue pairs than that have no place.
  static constexpr std::size_t kMaxFlows = 1024;

  struct Packet {
    Way way{};
    transport::wire::Gid source{};
    transport::wire::Gid destination{};
    transport::QpNumber destination_qp{};
    transport::Psn psn{};
    Part part{};
  };

  /// Where a packet stands in its flow.
  struct Place {
    /// 1 for the first queue pair that a packet went to this way, 2 for the second, ...
    std::uint32_t queue_pair = 0;
    /// From the first PSN of the requests: of its own flow, or of that which it answers. An answer to
    /// requests that never came by counts from the first answer.
    std::optional<std::int32_t> psn{};
    bool is_again =
        false;  ///< the flow had such a part (request, answer) with this PSN already, or with a later one
  };

  PacketHistory();

  /// Notes a packet, in the order of the line. None for one that a full history has no flow for.
  std::optional<Place> note(const Packet& packet);

  /// Packets that had no place.
  std::uint64_t untracked() const { return untracked_; }

 private:
  struct Key {
    Way way{};
    transport::QpNumber qp{};
    transport::wire::Gid destination{};
    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.way, a.qp, a.destination.octets) < std::tie(b.way, b.qp, b.destination.octets);
    }
  };

  /// PSNs of the requests of a flow, or of its answers.
  struct Range {
    transport::Psn first{};
    transport::Psn last{};
  };

  struct Flow {
    std::uint32_t number = 0;
    transport::wire::Gid source{};
    std::optional<Range> requests{};
    std::optional<Range> answers{};
    std::optional<transport::Psn> origin_of_answers{};  ///< the first PSN of what they answer
    std::uint64_t last_request = 0;                     ///< when that was, in packets
  };

  Flow* flow_of(const Packet& packet);
  transport::Psn origin_of_answer(const Packet& packet) const;

  boost::container::flat_map<Key, Flow> flows_;
  std::array<std::uint32_t, 2> queue_pairs_{};  // by way
  std::uint64_t packets_ = 0;
  std::uint64_t untracked_ = 0;
};

}  // namespace urnic::drivers
