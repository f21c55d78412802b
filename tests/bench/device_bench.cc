// What idle queue pairs cost a busy one: a device that talks to itself, alone and among ten thousand
// connections.
#include <benchmark/benchmark.h>

#include "tests/bench/meter.h"
#include "tests/support/self_connected_device.h"

namespace urnic::bench {
namespace {

constexpr std::size_t kBatch = test::SelfConnectedDevice::kQueueDepth;

void busy_among_idle(benchmark::State& state) {
  test::SelfConnectedDevice scene;
  scene.add_pair();
  for (std::int64_t i = 0; i < state.range(0); i += 2) scene.add_pair();
  const transport::SendRequest write{.operation = transport::SendOperation::kWrite,
                                     .signaled = true,
                                     .remote_address = scene.address() + 1024,
                                     .rkey = scene.rkey()};
  const auto write_batch = [&] { scene.run(0, write, 64, kBatch, kBatch); };
  write_batch();  // addresses are resolved, memory is touched
  Meter meter(state);
  for ([[maybe_unused]] auto _ : state) meter.measure(kBatch, write_batch);
}

BENCHMARK(busy_among_idle)->Arg(0)->Arg(10000)->UseManualTime();

}  // namespace
}  // namespace urnic::bench

BENCHMARK_MAIN();
