// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/bench/bench_message.h"

#include <fmt/core.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/wire/ethernet.h"

namespace urnic::drivers {
namespace {

static_assert(std::endian::native == std::endian::little);

// Where fields are.
constexpr std::size_t kLength = 4;  // of a hello: the version
constexpr std::size_t kTime = 8;    // of a hello: the latency
constexpr std::size_t kMac = 16;
constexpr std::size_t kMtu = 22;
constexpr std::size_t kIpv4 = 24;

template <typename Number>
Number read_number(std::span<const std::byte> message, std::size_t at) {
  Number number;
  std::memcpy(&number, message.data() + at, sizeof number);
  return number;
}

template <typename Number>
void write_number(Number number, std::span<std::byte> message, std::size_t at) {
  std::memcpy(message.data() + at, &number, sizeof number);
}

template <typename... Arguments>
Error wrong(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error{.code = EPROTO, .message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

}  // namespace

std::array<std::byte, BenchHello::kBytes> to_bytes(const BenchHello& hello) {
  std::array<std::byte, BenchHello::kBytes> message{};
  write_number(static_cast<std::uint32_t>(BenchKind::kHello), message, 0);
  write_number(BenchHello::kVersion, message, kLength);
  write_number(hello.latency_ps, message, kTime);
  std::memcpy(message.data() + kMac, hello.mac.octets.data(), hello.mac.octets.size());
  write_number(hello.link_mtu, message, kMtu);
  std::memcpy(message.data() + kIpv4, hello.ipv4.octets.data(), hello.ipv4.octets.size());
  return message;
}

void write_bench_header(BenchKind kind, std::uint32_t length, std::uint64_t time_ps,
                        std::span<std::byte, BenchMessage::kHeaderBytes> to) {
  write_number(static_cast<std::uint32_t>(kind), to, 0);
  write_number(length, to, kLength);
  write_number(time_ps, to, kTime);
}

// The kind and the version stand at the same places in all versions.
Result<BenchHello, Error> parse_bench_hello(std::span<const std::byte> message) {
  if (message.size() < kTime) return wrong("its first message has {} bytes, and is no hello", message.size());
  const auto kind = read_number<std::uint32_t>(message, 0);
  if (kind != static_cast<std::uint32_t>(BenchKind::kHello)) {
    return wrong("its first message is of kind {}, and no hello", kind);
  }
  const auto version = read_number<std::uint32_t>(message, kLength);
  if (version != BenchHello::kVersion) {
    return wrong("it speaks version {} of the protocol, and this urnic version {}", version,
                 BenchHello::kVersion);
  }
  if (message.size() != BenchHello::kBytes) {
    return wrong("its hello has {} bytes instead of {}", message.size(), BenchHello::kBytes);
  }
  BenchHello hello{.latency_ps = read_number<std::uint64_t>(message, kTime),
                   .link_mtu = read_number<std::uint16_t>(message, kMtu)};
  std::memcpy(hello.mac.octets.data(), message.data() + kMac, hello.mac.octets.size());
  std::memcpy(hello.ipv4.octets.data(), message.data() + kIpv4, hello.ipv4.octets.size());
  if (hello.latency_ps < kLeastBenchLatencyPs || hello.latency_ps > kMostBenchLatencyPs) {
    return wrong("its link has a latency of {} ps, which is not from {} ps to a second", hello.latency_ps,
                 kLeastBenchLatencyPs);
  }
  return hello;
}

Result<BenchMessage, Error> parse_bench_message(std::span<const std::byte> message, std::size_t most_bytes) {
  if (message.size() < BenchMessage::kHeaderBytes) {
    return wrong("a message has {} bytes, and no header", message.size());
  }
  const auto kind = read_number<std::uint32_t>(message, 0);
  const auto length = read_number<std::uint32_t>(message, kLength);
  BenchMessage parsed{.kind = static_cast<BenchKind>(kind),
                      .time_ps = read_number<std::uint64_t>(message, kTime),
                      .frame = message.subspan(BenchMessage::kHeaderBytes)};
  if (parsed.kind != BenchKind::kGrant && parsed.kind != BenchKind::kFrame) {
    return wrong("a message is of kind {}, which version {} does not have", kind, BenchHello::kVersion);
  }
  if (parsed.frame.size() != length) {
    return wrong("a message of {} bytes says that {} follow its header", message.size(), length);
  }
  if (parsed.time_ps > kLastBenchTimePs) return wrong("a message has a time of {} ps", parsed.time_ps);
  if (parsed.kind == BenchKind::kGrant) {
    if (length != 0) return wrong("a grant has {} bytes after its header", length);
  } else if (length < transport::wire::Ethernet::kMinBytes || length > most_bytes) {
    return wrong("a frame has {} bytes, which is not from {} to {}", length,
                 std::size_t{transport::wire::Ethernet::kMinBytes}, most_bytes);
  }
  return parsed;
}

}  // namespace urnic::drivers
