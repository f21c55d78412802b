// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What idle queue pairs and silent neighbors cost a busy queue pair: a device that talks to itself, alone and
// among many.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <mutex>

#include "nic/engine/engine.h"
#include "tests/bench/meter.h"
#include "tests/support/self_connected_device.h"

namespace urnic::bench {
namespace {

constexpr std::size_t kBatch = test::SelfConnectedDevice::kQueueDepth;

/// Nanoseconds for each of the WRITEs of 64 B that the first two queue pairs exchange.
void measure_writes(test::SelfConnectedDevice& scene, benchmark::State& state) {
  const transport::SendRequest write{.operation = transport::SendOperation::kWrite,
                                     .signaled = true,
                                     .remote_address = scene.address() + 1024,
                                     .rkey = scene.rkey()};
  const auto write_batch = [&] { scene.run(0, write, 64, kBatch, kBatch); };
  write_batch();  // addresses are resolved, memory is touched
  Meter meter(state);
  for ([[maybe_unused]] auto _ : state) meter.measure(kBatch, write_batch);
}

void busy_among_idle(benchmark::State& state) {
  test::SelfConnectedDevice scene;
  scene.add_pair();
  for (std::int64_t i = 0; i < state.range(0); i += 2) scene.add_pair();
  measure_writes(scene, state);
}

void busy_among_neighbors(benchmark::State& state) {
  test::SelfConnectedDevice scene;
  scene.add_pair();
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const auto octet = static_cast<std::uint8_t>(i);
    const std::lock_guard guard(scene.device().engine());
    scene.device().engine().tables().neighbors.learn(transport::wire::Gid::from_ipv4({{10, 0, 1, octet}}),
                                                     {{0x02, 0, 0, 0, 1, octet}},
                                                     scene.device().engine().clock().now());
  }
  measure_writes(scene, state);
}

BENCHMARK(busy_among_idle)->Arg(0)->Arg(10000)->UseManualTime();
BENCHMARK(busy_among_neighbors)->Arg(0)->Arg(200)->UseManualTime();

}  // namespace
}  // namespace urnic::bench

BENCHMARK_MAIN();
