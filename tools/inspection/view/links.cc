// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/view/links.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace urnic::view {
namespace {

constexpr std::int64_t kPsns = 1 << 24;

/// The requests that one end of a connection sent, and the answers to them, by PSN. PSNs are counted on
/// beyond 24 bits.
struct Direction {
  std::int64_t newest = 0;
  std::map<std::int64_t, std::size_t> requests;
  std::map<std::int64_t, std::size_t> responses;

  /// The number nearest to the newest one.
  std::int64_t counted(std::uint32_t psn) const {
    std::int64_t distance = (static_cast<std::int64_t>(psn) - newest) % kPsns;
    if (distance < -kPsns / 2) distance += kPsns;
    if (distance >= kPsns / 2) distance -= kPsns;
    return newest + distance;
  }
};

class Linker {
 public:
  explicit Linker(Trace& trace) : packets_(trace.packets), directions_(trace.connections.size()) {}

  void take(std::size_t index) {
    const Packet& packet = packets_[index];
    if (!packet.connection || packet.has_bad_icrc) return;
    auto& directions = directions_[*packet.connection];
    switch (packet.kind) {
      case Kind::kRequest:
        return on_request(directions[packet.from], index);
      case Kind::kResponse:
        remember(directions[1 - packet.from].responses, directions[1 - packet.from].counted(packet.psn),
                 index);
        return on_answer(directions[1 - packet.from], index);
      case Kind::kAck:
      case Kind::kNak:
      case Kind::kRnr:
        return on_answer(directions[1 - packet.from], index);
      default:
        return;
    }
  }

 private:
  void remember(std::map<std::int64_t, std::size_t>& by_psn, std::int64_t psn, std::size_t index) {
    const auto [known, is_new] = by_psn.emplace(psn, index);
    if (is_new) return;
    packets_[index].repeats = known->second;
    packets_[known->second].repeated_by.push_back(index);
    known->second = index;
  }

  void on_request(Direction& direction, std::size_t index) {
    if (direction.requests.empty()) direction.newest = packets_[index].psn;
    const std::int64_t psn = direction.counted(packets_[index].psn);
    remember(direction.requests, psn, index);
    direction.newest = std::max(direction.newest, psn);
  }

  /// A READ's answers have PSNs of their own, from the READ's PSN on. So the request is the last one up to
  /// the answer's PSN.
  void on_answer(Direction& direction, std::size_t index) {
    const auto behind = direction.requests.upper_bound(direction.counted(packets_[index].psn));
    if (behind == direction.requests.begin()) return;
    const std::size_t request = std::prev(behind)->second;
    packets_[index].request = request;
    packets_[request].answers.push_back(index);
  }

  std::vector<Packet>& packets_;
  std::vector<std::array<Direction, 2>> directions_;
};

}  // namespace

void link_packets(Trace& trace) {
  Linker linker(trace);
  for (std::size_t i = 0; i < trace.packets.size(); ++i) linker.take(i);
}

}  // namespace urnic::view
