// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/drivers/dpdk/traffic.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

#include "drivers/dpdk/open_port.h"

namespace urnic::drivers {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;
using Kind = nic::PortSpec::Kind;
using Side = nic::PortSpec::VhostSide;

constexpr std::size_t kPingBytes = 64;
constexpr std::uint32_t kLastPing = 1'000'000;

// The echoing process writes its id here, after two bytes that make_frame() does not touch either.
constexpr std::size_t kStampOffset = 4;

}  // namespace

nic::PortSpec front_of(const std::string& path) {
  return {.kind = Kind::kVhost, .side = Side::kFront, .target = path};
}

nic::PortSpec back_of(const std::string& path) {
  return {.kind = Kind::kVhost, .side = Side::kBack, .target = path};
}

nic::PortSpec interface_port(const std::string& name) {
  return {.kind = Kind::kAfPacket, .side = {}, .target = name};
}

std::unique_ptr<nic::PacketPort> open(const nic::PortSpec& spec, std::uint16_t link_mtu) {
  auto port = open_dpdk_port(spec, link_mtu, {});
  if (!port) throw std::runtime_error(port.error().message);
  return std::move(port.value());
}

std::string error_of_opening(const nic::PortSpec& spec, std::uint16_t link_mtu) {
  const auto port = open_dpdk_port(spec, link_mtu, {});
  return port ? "" : port.error().message;
}

Process::Body caught(std::function<std::string(const Process::Parent&)> body) {
  return [body = std::move(body)](const Process::Parent& parent) -> std::string {
    try {
      return body(parent);
    } catch (const std::exception& error) {
      return fmt::format("exception: {}", error.what());
    }
  };
}

std::vector<std::byte> make_frame(std::size_t length, std::uint32_t seed) {
  std::minstd_rand random(seed + 1);
  std::vector<std::byte> frame(length);
  for (auto& byte : frame) byte = static_cast<std::byte>(random() >> 8);
  if (frame[0] == kStampMe) frame[0] = std::byte{0};
  return frame;
}

void send(nic::PacketPort& port, std::span<const std::byte> frame) {
  const auto end = Clock::now() + 1s;
  auto room = port.reserve();
  while (room.size() < frame.size()) {
    if (Clock::now() > end) throw std::runtime_error("the port takes no frames");
    port.flush();
    room = port.reserve();
  }
  std::copy(frame.begin(), frame.end(), room.begin());
  port.commit(frame.size());
  port.flush();
}

std::vector<std::byte> receive(nic::PacketPort& port, std::chrono::milliseconds patience) {
  std::array<nic::ReceivedFrame, 1> frames;
  const auto end = Clock::now() + patience;
  do {
    if (port.receive(frames) == 1) return {frames[0].begin(), frames[0].end()};
    port.flush();
  } while (Clock::now() < end);
  return {};
}

Process::Body echo(const nic::PortSpec& spec) {
  return caught([spec](const Process::Parent& parent) -> std::string {
    const auto port = open(spec);
    parent.tell("open");
    const pid_t me = getpid();
    std::array<nic::ReceivedFrame, 64> frames;
    while (true) {
      const std::size_t count = port->receive(frames);
      for (std::size_t i = 0; i < count; ++i) {
        const auto room = port->reserve();
        if (room.empty()) break;  // a wire may lose frames
        std::copy(frames[i].begin(), frames[i].end(), room.begin());
        if (frames[i][0] == kStampMe) std::memcpy(&room[kStampOffset], &me, sizeof(me));
        port->commit(frames[i].size());
      }
      port->flush();
    }
  });
}

bool reach_peer(nic::PacketPort& port, std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  for (std::uint32_t tries = 0; Clock::now() < end; ++tries) {
    send(port, make_frame(kPingBytes, tries));
    const auto answer = receive(port, 5ms);
    if (answer.empty()) continue;
    // Answers to earlier pings may be on their way. The one to this ping is the last.
    const auto last = make_frame(kPingBytes, kLastPing);
    send(port, last);
    while (Clock::now() < end) {
      if (receive(port, 100ms) == last) return true;
    }
  }
  return false;
}

std::string exchange_all_lengths(nic::PacketPort& port, std::size_t shortest, std::size_t padded_to) {
  if (!reach_peer(port, kPatience)) return "no peer";
  constexpr std::size_t kInFlight = 32;
  for (std::size_t first = shortest; first <= kMaxFrame; first += kInFlight) {
    const std::size_t end = std::min(first + kInFlight, kMaxFrame + 1);
    for (std::size_t length = first; length < end; ++length) {
      send(port, make_frame(length, static_cast<std::uint32_t>(length)));
    }
    for (std::size_t length = first; length < end; ++length) {
      auto frame = make_frame(length, static_cast<std::uint32_t>(length));
      if (frame.size() < padded_to) frame.resize(padded_to);
      const auto returned = receive(port, kPatience);
      if (returned.empty()) return fmt::format("the frame of {} bytes is lost", length);
      if (returned != frame) return fmt::format("the frame of {} bytes is changed", length);
    }
  }
  return "";
}

std::string complaint_about_waking(nic::PacketPort& near, nic::PacketPort& far) {
  pollfd wake{.fd = near.wake_fd(), .events = POLLIN, .revents = 0};
  while (near.arm()) receive(near, 0ms);
  if (poll(&wake, 1, 200) != 0) return "woken by nothing";
  for (int i = 0; i < 5; ++i) {
    send(far, make_frame(100, 1));
    if (poll(&wake, 1, 100) != 1) return "not woken";
    near.disarm();
    if (receive(near, 0ms).empty()) return "woken without a frame";
    while (near.arm()) receive(near, 0ms);
  }
  return "";
}

}  // namespace urnic::drivers
