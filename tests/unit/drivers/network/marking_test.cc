// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ECN: which frames are marked, and what a mark changes in them.
#include "drivers/network/marking.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/drivers/network/rig.h"

namespace urnic::network::test {
namespace {

constexpr std::uint64_t kKmin = 50'000;
constexpr std::uint64_t kKmax = 150'000;

Profile marking(double pmax, Marking::NotEct not_ect = Marking::NotEct::kPass) {
  Profile profile;
  for (PriorityProfile& settings : profile.priorities) {
    settings.limit_bytes = 1 << 24;
    settings.marking = Marking{.kmin_bytes = kKmin, .kmax_bytes = kKmax, .pmax = pmax, .not_ect = not_ect};
  }
  return profile;
}

Ecn ecn_of(std::span<const std::byte> frame) {
  return read_fields(frame)->ecn;
}

/// What a queue of each length did to the frames that came.
class MarkCounter : public Observer {
 public:
  void on_mark(PortId port, [[maybe_unused]] unsigned priority, std::span<const std::byte> frame,
               [[maybe_unused]] Time time) override {
    EXPECT_EQ(port, switch_port(2));
    EXPECT_EQ(ecn_of(frame), Ecn::kCe);
    was_marked = true;
  }
  void on_queue(PortId port, [[maybe_unused]] unsigned priority, std::uint64_t bytes,
                [[maybe_unused]] Time time) override {
    if (port != switch_port(2)) return;
    if (bytes > length) {
      if (samples.size() <= length / kFrame) samples.resize(length / kFrame + 1);
      ++samples[length / kFrame].frames;
      samples[length / kFrame].marks += was_marked ? 1 : 0;
    }
    was_marked = false;
    length = bytes;
  }

  struct Sample {
    std::uint64_t frames = 0;
    std::uint64_t marks = 0;
  };
  static constexpr std::uint64_t kFrame = 1000;
  std::vector<Sample> samples;  // by what waited, in frames
  std::uint64_t length = 0;
  bool was_marked = false;
};

/// Two senders at 100 Gb/s and 50 Gb/s fill a queue of 100 Gb/s beyond Kmax, and stop; again and again.
std::vector<MarkCounter::Sample> sample(double pmax, int rounds) {
  Topology topology = star(3, marking(pmax));
  topology.links[1].rate_bps = 50 * kGigabit;
  topology.hosts[0].queue_bytes = topology.hosts[1].queue_bytes = 1 << 24;
  Network network(topology, 7);
  attach_all(network);
  MarkCounter counter;
  network.set_observer(&counter);
  Recorder sink;
  const Bytes first = make_frame({.from = 0, .to = 2, .size = MarkCounter::kFrame});
  const Bytes second = make_frame({.from = 1, .to = 2, .size = MarkCounter::kFrame, .ecn = Ecn::kEct1});
  for (int round = 0; round < rounds; ++round) {
    const Time now = at(1ms * round);
    for (int i = 0; i < 400; ++i) network.send(host(0), first, now);
    for (int i = 0; i < 200; ++i) network.send(host(1), second, now);
    network.run_until(now + 999us, sink);
    sink.deliveries.clear();
  }
  return counter.samples;
}

TEST(NetworkMarking, IsNeverBelowKminAndAlwaysAboveKmax) {
  std::uint64_t below = 0;
  std::uint64_t above = 0;
  const auto samples = sample(0.5, 20);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::uint64_t waiting = i * MarkCounter::kFrame;
    if (waiting <= kKmin) {
      EXPECT_EQ(samples[i].marks, 0u) << waiting;
      below += samples[i].frames;
    }
    if (waiting > kKmax) {
      EXPECT_EQ(samples[i].marks, samples[i].frames) << waiting;
      above += samples[i].frames;
    }
  }
  EXPECT_GT(below, 1000u);
  EXPECT_GT(above, 500u);
}

TEST(NetworkMarking, HasTheProbabilityOfTheFormulaBetweenThem) {
  for (const double pmax : {1.0, 0.2}) {
    double chi_square = 0;
    std::size_t cells = 0;
    const auto samples = sample(pmax, 400);
    // Ten cells of ten queue lengths each; the formula is written out here once more.
    for (std::uint64_t first = kKmin + 1000; first <= kKmax; first += 10'000) {
      double expected = 0;
      double variance = 0;
      double seen = 0;
      for (std::uint64_t waiting = first; waiting < first + 10'000; waiting += 1000) {
        const auto& cell = samples[waiting / MarkCounter::kFrame];
        const double p = pmax * static_cast<double>(waiting - 50'000) / 100'000.;
        expected += p * static_cast<double>(cell.frames);
        variance += p * (1 - p) * static_cast<double>(cell.frames);
        seen += static_cast<double>(cell.marks);
      }
      ASSERT_GT(expected, 5) << first;
      chi_square += (seen - expected) * (seen - expected) / variance;
      ++cells;
    }
    EXPECT_EQ(cells, 10u);
    // Ten degrees of freedom: more than 35.6 in one run of ten thousand.
    EXPECT_LT(chi_square, 35.6) << pmax;
  }
}

/// The frames that reach host 2, with a queue that is beyond Kmax.
std::vector<Delivery> sent_through_a_full_queue(const Profile& profile, const std::vector<Bytes>& frames) {
  Topology topology = star(3, profile);
  topology.links[2].rate_bps = 1 * kGigabit;
  topology.hosts[1].queue_bytes = 1 << 24;
  Network network(topology, 1);
  attach_all(network);
  Recorder sink;
  for (int i = 0; i < 200; ++i) {
    network.send(host(1), make_frame({.from = 1, .to = 2, .size = 1000}), at(0ns));
  }
  network.run_until(at(100us), sink);
  EXPECT_GT(network.queue_bytes(switch_port(2), 0), kKmax);
  for (const Bytes& frame : frames) network.send(host(0), frame, at(100us));
  network.run_until(at(1s), sink);
  std::vector<Delivery> from_first;
  for (const Delivery& each : sink.deliveries) {
    if (each.bytes[11] == std::byte{0}) from_first.push_back(each);
  }
  return from_first;
}

/// The checksum of RFC 791 by its own words: the one's complement of the one's complement sum of all 16-bit
/// words.
bool ipv4_checksum_is_right(std::span<const std::byte> header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < header.size(); i += 2) {
    sum += std::to_integer<unsigned>(header[i]) * 256u + std::to_integer<unsigned>(header[i + 1]);
  }
  return sum % 0xffff == 0 && sum != 0;
}

TEST(NetworkMarking, ChangesTosAndChecksumOfIpv4AndNothingElse) {
  for (const Ecn ecn : {Ecn::kEct0, Ecn::kEct1}) {
    for (unsigned dscp = 0; dscp < 64; ++dscp) {
      Bytes frame =
          make_frame({.from = 0, .to = 2, .size = 200, .dscp = static_cast<std::uint8_t>(dscp), .ecn = ecn});
      frame[18] = static_cast<std::byte>(dscp * 7);  // identification, so that many checksums are tried
      wire::store_u16(std::span(frame), 24, 0);
      wire::store_u16(std::span(frame), 24, wire::ipv4_header_checksum(std::span(frame).subspan(14, 20)));
      // Everything in priority 0, where the queue is full.
      Profile profile = marking(1);
      profile.dscp_to_priority.fill(0);
      const auto seen = sent_through_a_full_queue(profile, {frame});
      ASSERT_EQ(seen.size(), 1u);
      const Bytes& marked = seen[0].bytes;
      EXPECT_EQ(std::to_integer<unsigned>(marked[15]), dscp << 2 | 3u);
      EXPECT_TRUE(ipv4_checksum_is_right(std::span(marked).subspan(14, 20)));
      for (std::size_t i = 0; i < frame.size(); ++i) {
        const bool may_change = i == 15 || i == 24 || i == 25;
        EXPECT_TRUE(may_change || marked[i] == frame[i]) << i;
      }
      if (dscp == 0 || dscp == 26) {
        const std::span before(frame);
        const std::span after(marked);
        EXPECT_EQ(wire::icrc_ipv4(before.subspan(14, 28), before.subspan(42, 154)),
                  wire::icrc_ipv4(after.subspan(14, 28), after.subspan(42, 154)));
      }
    }
  }
}

TEST(NetworkMarking, LeavesAWrongIpv4ChecksumWrong) {
  Bytes frame = make_frame({.from = 0, .to = 2, .size = 200});
  frame[24] ^= std::byte{0x10};
  const auto seen = sent_through_a_full_queue(marking(1), {frame});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(std::to_integer<unsigned>(seen[0].bytes[15]), 3u);
  EXPECT_FALSE(ipv4_checksum_is_right(std::span(seen[0].bytes).subspan(14, 20)));
}

TEST(NetworkMarking, ChangesTheTrafficClassOfIpv6AndNothingElse) {
  const Bytes frame = make_frame({.from = 0, .to = 2, .size = 200, .is_ipv6 = true});
  const auto seen = sent_through_a_full_queue(marking(1), {frame});
  ASSERT_EQ(seen.size(), 1u);
  Bytes expected = frame;
  ASSERT_EQ(std::to_integer<unsigned>(frame[15]), 0x2au);  // ECT(0), and the label's first digit
  expected[15] = std::byte{0x3a};
  EXPECT_EQ(seen[0].bytes, expected);
  const std::span before(frame);
  const std::span after(seen[0].bytes);
  EXPECT_EQ(wire::icrc_ipv6(before.subspan(14, 48), before.subspan(62, 134)),
            wire::icrc_ipv6(after.subspan(14, 48), after.subspan(62, 134)));
}

TEST(NetworkMarking, PassesOrDropsWhatIsNotEct) {
  const Bytes frame = make_frame({.from = 0, .to = 2, .size = 200, .ecn = Ecn::kNotEct});
  const auto passed = sent_through_a_full_queue(marking(1), {frame});
  ASSERT_EQ(passed.size(), 1u);
  EXPECT_EQ(passed[0].bytes, frame);
  EXPECT_TRUE(sent_through_a_full_queue(marking(1, Marking::NotEct::kDrop), {frame}).empty());
}

TEST(NetworkMarking, KeepsCopiesApart) {
  // A frame to all, of which only the copy for host 2 meets a full queue.
  Bytes frame = make_frame({.from = 0, .to = 2, .size = 200});
  std::fill_n(frame.begin(), 6, std::byte{0xff});
  Topology topology = star(4, marking(1));
  topology.links[2].rate_bps = 1 * kGigabit;
  topology.hosts[1].queue_bytes = 1 << 24;
  Network network(topology, 1);
  attach_all(network);
  Recorder sink;
  for (int i = 0; i < 200; ++i) {
    network.send(host(1), make_frame({.from = 1, .to = 2, .size = 1000}), at(0ns));
  }
  network.run_until(at(100us), sink);
  sink.deliveries.clear();
  network.send(host(0), frame, at(100us));
  network.run_until(at(1s), sink);
  std::size_t copies = 0;
  for (const Delivery& each : sink.deliveries) {
    if (each.bytes[0] != std::byte{0xff}) continue;
    ++copies;
    EXPECT_EQ(ecn_of(each.bytes), each.host == host(2) ? Ecn::kCe : Ecn::kEct0);
  }
  EXPECT_EQ(copies, 3u);
}

}  // namespace
}  // namespace urnic::network::test
