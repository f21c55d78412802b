// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The same topology, seed and calls: the same trace, to the last counter.
#include <gmock/gmock.h>

#include <functional>
#include <initializer_list>
#include <string_view>

#include "drivers/network/random.h"
#include "tests/unit/drivers/network/rig.h"

namespace urnic::network::test {
namespace {

/// Everything that can be seen, as one number, in order.
class Trace : public Recorder, public Observer {
 public:
  void deliver(HostId to, std::span<const std::byte> frame, Time time) override {
    note({1, static_cast<std::uint64_t>(to), count_of(time)}, frame);
  }
  void on_send(PortId port, std::span<const std::byte> frame, Time time) override {
    note({2, static_cast<std::uint64_t>(port), count_of(time)}, frame);
  }
  void on_queue(PortId port, unsigned priority, std::uint64_t bytes, Time time) override {
    note({3, static_cast<std::uint64_t>(port), priority, bytes, count_of(time)}, {});
  }
  void on_mark(PortId port, unsigned priority, std::span<const std::byte> frame, Time time) override {
    ++marks;
    note({4, static_cast<std::uint64_t>(port), priority, count_of(time)}, frame);
  }
  void on_drop(PortId port, unsigned priority, DropReason reason, std::span<const std::byte> frame,
               Time time) override {
    ++drops;
    note({5, static_cast<std::uint64_t>(port), priority, static_cast<std::uint64_t>(reason), count_of(time)},
         frame);
  }
  void on_pause(PortId port, unsigned priority, bool is_paused, Time time) override {
    ++pauses;
    note({6, static_cast<std::uint64_t>(port), priority, is_paused ? 1u : 0u, count_of(time)}, {});
  }
  void on_link(LinkId id, bool is_up, Time time) override {
    note({7, static_cast<std::uint64_t>(id), is_up ? 1u : 0u, count_of(time)}, {});
  }

  std::uint64_t value = 0;
  std::size_t marks = 0;
  std::size_t drops = 0;
  std::size_t pauses = 0;

 private:
  static std::uint64_t count_of(Time time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
  }
  void note(std::initializer_list<std::uint64_t> numbers, std::span<const std::byte> frame) {
    for (const std::uint64_t number : numbers) value = spread(value * 31 + number);
    const std::string_view bytes(reinterpret_cast<const char*>(frame.data()), frame.size());
    value = spread(value * 31 + std::hash<std::string_view>()(bytes));
  }
};

/// All sorts of weather: marks, drops, pauses, a link that goes down.
std::uint64_t trace_of(std::uint64_t seed, Duration step) {
  Topology topology = shipped_topology("leaf_spine");
  topology.links[23].outages = {{.down = 100us, .up = 200us}};
  topology.profiles[0].priorities[0].limit_bytes = 30'000;
  topology.profiles[0].priorities[3].lossless->xoff_bytes = 60'000;
  Network network(topology, seed);
  attach_all(network);
  Trace trace;
  network.set_observer(&trace);
  Random random(99);
  for (Time now{}; now < at(250us); now += step) {
    network.run_until(now, trace);
    if (now.time_since_epoch() % 500ns != 0ns) continue;
    for (int i = 0; i < 16; ++i) {
      const std::size_t from = random.next() % 16;
      const FrameSpec spec{.from = from,
                           .to = random.next() % 4,
                           .size = 100 + random.next() % 4000,
                           .dscp = static_cast<std::uint8_t>(random.chance(0.7) ? 26 : 0),
                           .source_port = static_cast<std::uint16_t>(random.next() % 8)};
      network.send(host(from), make_frame(spec), now);
    }
  }
  network.run_until(at(2ms), trace);
  EXPECT_GT(trace.marks, 10u);
  EXPECT_GT(trace.drops, 10u);
  EXPECT_GT(trace.pauses, 10u);
  EXPECT_EQ(network.frames_inside(), 0u);
  for (unsigned priority = 0; priority < kPriorities; ++priority) {
    trace.value = spread(trace.value + network.total(priority).sent_bytes);
  }
  return trace.value;
}

TEST(Network, DoesTheSameForTheSameSeed) {
  const std::uint64_t first = trace_of(1, 500ns);
  EXPECT_EQ(trace_of(1, 500ns), first);
  EXPECT_NE(trace_of(2, 500ns), first);
}

TEST(Network, DoesNotMindHowOftenItIsRun) {
  EXPECT_EQ(trace_of(1, 50ns), trace_of(1, 500ns));
}

}  // namespace
}  // namespace urnic::network::test
