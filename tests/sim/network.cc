#include "tests/sim/network.h"

#include <algorithm>
#include <optional>

namespace urnic::sim {
namespace {

constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kUdpBytes = 8;
constexpr std::size_t kBthByte4 = 4;  // FECN, BECN, reserved: masked in the ICRC (fact 2)

/// Where the BTH begins; nothing for a frame that is not IPv4 or IPv6.
std::optional<std::size_t> bth_offset(std::span<const std::byte> frame) {
  if (frame.size() <= kEthernetBytes) {
    return std::nullopt;
  }
  const auto ether_type = std::to_integer<unsigned>(frame[12]) << 8 | std::to_integer<unsigned>(frame[13]);
  const std::size_t ip_bytes = ether_type == 0x0800 ? 20 : ether_type == 0x86dd ? 40 : 0;
  if (ip_bytes == 0 || frame.size() <= kEthernetBytes + ip_bytes + kUdpBytes + 12) {
    return std::nullopt;
  }
  constexpr std::byte kUdp{17};
  const std::byte protocol = frame[kEthernetBytes + (ip_bytes == 20 ? 9 : 6)];
  return protocol == kUdp ? std::optional(kEthernetBytes + ip_bytes + kUdpBytes) : std::nullopt;
}

void flip(std::byte& byte, std::uint64_t bit) { byte ^= std::byte{1} << (bit & 7u); }

}  // namespace

Network::Network(const Options& options, const SimClock& clock, EventQueue& events, FramePool& frames)
    : clock_(clock),
      events_(events),
      frames_(frames),
      directions_{Direction{.options = options.links[0], .random = Random(options.seed, Stream::kForward)},
                  Direction{.options = options.links[1], .random = Random(options.seed, Stream::kBackward)}} {}

void Network::send(Side from, std::span<const std::byte> bytes) {
  Direction& direction = directions_[index(from)];
  const auto on_the_link =
      Duration(static_cast<std::int64_t>(static_cast<double>(bytes.size()) * direction.options.nanoseconds_per_byte));
  direction.link_free = std::max(direction.link_free, clock_.now()) + on_the_link;
  if (faults_on_ && is_lost(direction)) {
    return;
  }
  deliver(from, bytes, direction.link_free);
  if (faults_on_ && direction.random.chance(direction.options.faults.duplication)) {
    ++counts_.duplicated;
    // Some come right behind the first, others when nobody reckons with them any more.
    const Duration late = direction.random.chance(0.5) ? direction.options.reorder_delay : Duration(0);
    deliver(from, bytes, direction.link_free, direction.random.between(Duration(0), late));
  }
}

bool Network::is_lost(Direction& direction) {
  if (direction.random.chance(direction.options.faults.blackout)) {
    direction.blackout_until = direction.link_free + direction.random.between(Duration(0), direction.options.blackout_time);
  }
  if (direction.link_free < direction.blackout_until) {
    ++counts_.lost_in_blackout;
    return true;
  }
  if (direction.random.chance(direction.options.faults.loss)) {
    ++counts_.lost;
    return true;
  }
  return false;
}

void Network::deliver(Side from, std::span<const std::byte> bytes, Time sent, Duration late) {
  Direction& direction = directions_[index(from)];
  const LinkOptions& options = direction.options;
  Random& random = direction.random;

  Time time = sent + options.base_delay + random.between(Duration(0), options.jitter);
  if (faults_on_ && random.chance(options.faults.reordering)) {
    ++counts_.reordered;
    time += random.between(Duration(0), options.reorder_delay);
  } else if (late > Duration(0)) {
    time += late;
  } else {
    time = std::max(time, direction.last_delivery);
    direction.last_delivery = time;
  }

  Frame* const frame = frames_.take();
  frame->bytes.assign(bytes.begin(), bytes.end());
  if (faults_on_) {
    if (!bth_offset(bytes) && random.chance(options.faults.corruption + options.faults.truncation)) {
      ++counts_.lost;
      frames_.give_back(frame);
      return;
    }
    damage(*frame, random, options.faults);
  }
  events_.add({.time = time, .kind = Event::Kind::kDeliver, .side = other(from), .frame = frame});
}

void Network::damage(Frame& frame, Random& random, const FaultRates& faults) {
  auto& bytes = frame.bytes;
  const auto bth = bth_offset(bytes);
  if (!bth) {
    return;
  }
  if (random.chance(faults.corruption)) {
    ++counts_.corrupted;
    frame.damaged = true;
    std::size_t victim = *bth + random.below(bytes.size() - *bth);
    if (victim == *bth + kBthByte4) {
      ++victim;
    }
    flip(bytes[victim], random.next());
    for (std::uint64_t more = random.below(4); more > 0; --more) {
      std::size_t another = random.below(bytes.size());
      // Flipping the same bit twice would repair the frame.
      another += another == victim ? 1 : 0;
      flip(bytes[another % bytes.size()], random.next());
    }
  } else if (random.chance(faults.truncation)) {
    ++counts_.truncated;
    frame.damaged = true;
    bytes.resize(random.below(bytes.size()));
  } else if (random.chance(faults.padding)) {
    ++counts_.padded;
    bytes.resize(bytes.size() + random.between(1, 18), std::byte{0x5a});
  }
}

}  // namespace urnic::sim
