// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Measures a vhost-user wire between two spinning processes: ./port_bench [SECONDS]
//
// A latency row is half the round trip of one frame that a second process echoes. A rate row is what the
// front receives while the second process sends as fast as it can. Each figure is the best of many windows of
// some milliseconds, because the processors may be shared with others.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "drivers/dpdk/open_port.h"

namespace {

using Clock = std::chrono::steady_clock;
using urnic::nic::PacketPort;
using urnic::nic::PortSpec;

constexpr std::uint16_t kLinkMtu = 4200;
constexpr std::array<std::size_t, 4> kFrameBytes = {64, 128, 1088, 4160};

constexpr auto kPatience = std::chrono::milliseconds(20);

// The first byte of a frame says what the other process shall do.
enum class Order : unsigned char { kEcho, kSend, kEnd };

std::unique_ptr<PacketPort> open(const std::string& path, PortSpec::VhostSide side) {
  const PortSpec spec{.kind = PortSpec::Kind::kVhost, .side = side, .target = path};
  auto port =
      urnic::drivers::open_dpdk_port(spec, kLinkMtu, {.verbose = secure_getenv("URNIC_VERBOSE") != nullptr});
  if (!port) {
    fmt::print(stderr, "{}\n", port.error().message);
    std::exit(1);
  }
  return std::move(port.value());
}

bool send(PacketPort& port, Order order, std::size_t length) {
  const auto room = port.reserve();
  if (room.empty()) return false;
  std::memset(room.data(), static_cast<int>(order), 64);
  port.commit(length);
  return true;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void serve(const std::string& path) {
  const auto port = open(path, PortSpec::VhostSide::kBack);
  std::array<urnic::nic::ReceivedFrame, 64> frames;
  std::size_t length = 0;  // 0: not sending
  while (true) {
    const std::size_t count = port->receive(frames);
    for (std::size_t i = 0; i < count; ++i) {
      switch (static_cast<Order>(frames[i][0])) {
        case Order::kEcho:
          length = 0;
          send(*port, Order::kEcho, frames[i].size());
          break;
        case Order::kSend:
          length = frames[i].size();
          break;
        case Order::kEnd:
          return;
      }
    }
    for (int i = 0; length > 0 && i < 32 && send(*port, Order::kSend, length); ++i) {
    }
    port->flush();
  }
}

bool ping(PacketPort& port, std::size_t length, std::chrono::milliseconds patience) {
  std::array<urnic::nic::ReceivedFrame, 64> frames;
  send(port, Order::kEcho, length);
  port.flush();
  const auto deadline = Clock::now() + patience;
  for (unsigned polls = 1;; ++polls) {
    const std::size_t count = port.receive(frames);
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<Order>(frames[i][0]) == Order::kEcho) return true;
    }
    if (polls % 1024 == 0 && Clock::now() > deadline) return false;
  }
}

double half_round_trip_us(PacketPort& port, std::size_t length, double seconds) {
  constexpr int kPings = 1000;
  double best = 1e9;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    const auto start = Clock::now();
    for (int i = 0; i < kPings; ++i) ping(port, length, kPatience);
    best = std::min(best, seconds_since(start) * 1e6 / kPings / 2);
  }
  return best;
}

double frames_per_second(PacketPort& port, std::size_t length, double seconds) {
  constexpr double kWindow = 0.005;
  std::array<urnic::nic::ReceivedFrame, 64> frames;
  send(port, Order::kSend, length);
  port.flush();
  double best = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    const auto start = Clock::now();
    std::size_t received = 0;
    double elapsed = 0;
    while (elapsed < kWindow) {
      for (int i = 0; i < 100; ++i) received += port.receive(frames);
      elapsed = seconds_since(start);
    }
    best = std::max(best, static_cast<double>(received) / elapsed);
  }
  while (!ping(port, 64, kPatience)) {  // ends the sending, too
  }
  return best;
}

std::string resident_memory() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmRSS:")) return line.substr(line.find_first_not_of("VmRS:\t "));
  }
  return "?";
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const std::string path = fmt::format("/tmp/urnic-bench-{}.sock", getpid());
  const pid_t child = fork();
  if (child == 0) {
    serve(path);
    std::_Exit(0);
  }
  const auto start = Clock::now();
  const auto port = open(path, PortSpec::VhostSide::kFront);
  const double opening_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  while (!ping(*port, 64, kPatience)) {
  }
  const double first_frame_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  fmt::print("opened in {:.0f} ms, first frame after {:.0f} ms, resident {}\n", opening_ms, first_frame_ms,
             resident_memory());

  fmt::print("{:>8} {:>18} {:>10} {:>8}\n", "bytes", "half trip, us", "Mframes/s", "Gb/s");
  for (const std::size_t length : kFrameBytes) {
    const double latency = half_round_trip_us(*port, length, seconds);
    const double rate = frames_per_second(*port, length, seconds);
    fmt::print("{:>8} {:>18.2f} {:>10.2f} {:>8.1f}\n", length, latency, rate / 1e6,
               rate * static_cast<double>(length) * 8 / 1e9);
    std::fflush(stdout);
  }
  fmt::print("resident {} after\n", resident_memory());
  send(*port, Order::kEnd, 64);
  port->flush();
  waitpid(child, nullptr, 0);
}
