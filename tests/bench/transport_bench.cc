// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What one packet costs: parse, check and execute; and build. Memory is warm: 64 frames go round.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "tests/bench/meter.h"
#include "tests/bench/packet_pair.h"
#include "transport/wire/icrc.h"

namespace urnic::bench {
namespace {

using transport::QpNumber;
using transport::SendOperation;

constexpr std::size_t kBatch = 64;
constexpr std::size_t kFrameBytes = 4400;
constexpr std::uint32_t kWriteBytes = 4096;
constexpr std::uint32_t kSendBytes = 64;

/// Two ends and the frames of one batch. Every batch begins with new PSNs, so that the same frames fit again.
struct Scene {
  End sender{QpNumber{1}, QpNumber{2}};
  End receiver{QpNumber{2}, QpNumber{1}};
  std::vector<Frame> frames{kBatch, Frame(kFrameBytes)};

  void connect() {
    sender.connect();
    receiver.connect();
  }
  void post(SendOperation operation, std::uint32_t length) {
    for (std::size_t i = 0; i < kBatch; ++i) sender.post_send(operation, length, receiver);
  }
  /// As many frames as there are.
  std::size_t build(End& end) {
    std::size_t count = 0;
    for (; count < kBatch; ++count) {
      frames[count].resize(kFrameBytes);
      const std::size_t length = end.build(frames[count]);
      if (length == 0) break;
      frames[count].resize(length);
    }
    return count;
  }
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "transport_bench: %s\n", what);
  std::exit(1);
}

void build_requests(benchmark::State& state, SendOperation operation, std::uint32_t length) {
  Scene scene;
  Meter meter(state);
  std::vector<std::byte> frame(kFrameBytes);
  for ([[maybe_unused]] auto _ : state) {
    scene.connect();
    scene.post(operation, length);
    meter.measure(kBatch, [&] {
      for (std::size_t i = 0; i < kBatch; ++i) {
        if (scene.sender.build(frame) == 0) fail("a request is missing");
      }
    });
  }
}

void take_requests(benchmark::State& state, SendOperation operation, std::uint32_t length) {
  Scene scene;
  scene.post(operation, length);
  if (scene.build(scene.sender) != kBatch) fail("not every request fits into the window");
  Meter meter(state);
  const bool consumes = operation == SendOperation::kSend;
  for ([[maybe_unused]] auto _ : state) {
    scene.receiver.connect();
    for (std::size_t i = 0; consumes && i < kBatch; ++i) scene.receiver.post_receive(length);
    meter.measure(kBatch, [&] {
      for (const Frame& one : scene.frames) {
        if (!scene.receiver.take(one)) fail("a request was not taken");
      }
    });
  }
}

/// Each ACK completes one work request.
void take_acks(benchmark::State& state) {
  Scene scene;
  std::vector<Frame> acks;
  std::vector<std::byte> frame(kFrameBytes);
  for (int round = 0; round < 2; ++round) {
    scene.connect();
    scene.post(SendOperation::kWrite, kSendBytes);
    acks.clear();
    for (std::size_t i = 0; i < kBatch; ++i) {
      scene.receiver.take(std::span(frame).first(scene.sender.build(frame)));
      const std::size_t length = scene.receiver.build(frame);
      acks.emplace_back(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length));
    }
  }
  Meter meter(state);
  for ([[maybe_unused]] auto _ : state) {
    scene.sender.connect();
    scene.post(SendOperation::kWrite, kSendBytes);
    while (scene.sender.build(frame) != 0) {
    }
    const std::uint64_t before = scene.sender.completions();
    meter.measure(kBatch, [&] {
      for (const Frame& ack : acks) {
        if (!scene.sender.take(ack)) fail("an ACK was not taken");
      }
    });
    if (scene.sender.completions() != before + kBatch) fail("an ACK completed nothing");
  }
}

void build_acks(benchmark::State& state) {
  Scene scene;
  scene.post(SendOperation::kWrite, kSendBytes);
  scene.build(scene.sender);
  Meter meter(state);
  std::vector<std::byte> frame(kFrameBytes);
  for ([[maybe_unused]] auto _ : state) {
    scene.receiver.connect();
    for (const Frame& one : scene.frames) {
      scene.receiver.take(one);
      meter.measure(1, [&] {
        if (scene.receiver.build(frame) == 0) fail("an ACK is missing");
      });
    }
  }
}

void icrc(benchmark::State& state, std::size_t length) {
  const std::vector<std::byte> headers(28);
  const std::vector<std::byte> packet(length);
  Meter meter(state);
  for ([[maybe_unused]] auto _ : state) {
    meter.measure(kBatch, [&] {
      for (std::size_t i = 0; i < kBatch; ++i) {
        benchmark::DoNotOptimize(transport::wire::icrc_ipv4(headers, packet));
      }
    });
  }
}

BENCHMARK_CAPTURE(build_requests, WRITE_4096, SendOperation::kWrite, kWriteBytes)->UseManualTime();
BENCHMARK_CAPTURE(build_requests, SEND_64, SendOperation::kSend, kSendBytes)->UseManualTime();
BENCHMARK(build_acks)->UseManualTime();
BENCHMARK_CAPTURE(take_requests, WRITE_4096, SendOperation::kWrite, kWriteBytes)->UseManualTime();
BENCHMARK_CAPTURE(take_requests, SEND_64, SendOperation::kSend, kSendBytes)->UseManualTime();
BENCHMARK(take_acks)->UseManualTime();
BENCHMARK_CAPTURE(icrc, 4124_bytes, 4124)->UseManualTime();
BENCHMARK_CAPTURE(icrc, 92_bytes, 92)->UseManualTime();

}  // namespace
}  // namespace urnic::bench

BENCHMARK_MAIN();
