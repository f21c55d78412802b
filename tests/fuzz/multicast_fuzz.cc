// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: multicast groups that a program joins and leaves while any frames arrive.
//
// The input is a sequence of steps, each with a byte that says what it is (its low two bits) and of which
// group (the others): a join, a leave, time that passes (16 bits, in units of 10 ms), or a frame (16 bits of
// length, then its bytes), which arrives as it is or, when the group's number is odd, with right checksums.
// What must hold: reports are well-formed, of groups that were joined, and not more than their members and
// time allow; once all groups are left, nothing is to be said any more.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "nic/config.h"
#include "nic/path/gid_table.h"
#include "nic/path/multicast_reports.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/internet_checksum.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using namespace transport::wire;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kGroups = 24;  // more than fit into one report

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

DeviceConfig config_of_member() {
  DeviceConfig config;
  config.mac = Mac{{2, 0, 0, 0, 0, 1}};
  config.ipv4 = Ipv4Interface{.address = {{10, 9, 0, 1}}};
  return config;
}

/// The even ones are of IPv4; 239.9.9.9 and ff1e::1234 are in the captures.
Gid group_of(std::size_t number) {
  const auto low = static_cast<std::uint8_t>(number / 2);
  if (number % 2 == 0) return Gid::from_ipv4({{239, 9, 9, static_cast<std::uint8_t>(9 + low)}});
  return {{0xff, 0x1e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, static_cast<std::uint8_t>(0x34 + low)}};
}

/// Where the message of IGMP or MLD begins in an IP packet; nothing when there is none.
std::span<std::byte> message_in(std::span<std::byte> packet) {
  if (const auto ipv6 = Ipv6::parse(packet)) {
    const auto payload = packet.subspan(Ipv6::kBytes, ipv6.value().payload_length);
    if (ipv6.value().next_header != IpProtocol::kHopByHop || payload.size() < 8) return {};
    const std::size_t options = (load_u8(payload, 1) + std::size_t{1}) * 8;
    return options + 4 <= payload.size() ? payload.subspan(options) : std::span<std::byte>();
  }
  if (packet.size() < Ipv4::kMinBytes) return {};
  const std::size_t header = (load_u8(packet, 0) & 0xfu) * 4u;
  const std::size_t total = load_u16(packet, 2);
  const bool is_whole = header >= Ipv4::kMinBytes && header + 4 <= total && total <= packet.size();
  return is_whole ? packet.subspan(header, total - header) : std::span<std::byte>();
}

std::uint16_t checksum_of(std::span<const std::byte> packet, std::span<const std::byte> message) {
  InternetChecksum checksum;
  if (const auto ipv6 = Ipv6::parse(packet)) {
    checksum.add_pseudo_header(ipv6.value().source, ipv6.value().destination, IpProtocol::kIcmpv6,
                               static_cast<std::uint32_t>(message.size()));
  }
  checksum.add(message);
  return checksum.value();
}

/// So that a changed query is not refused for its checksums.
void repair_checksums(std::span<std::byte> frame) {
  const auto ethernet = Ethernet::parse(frame);
  if (!ethernet) return;
  const auto packet = frame.subspan(ethernet.value().header_bytes());
  const auto message = message_in(packet);
  if (message.empty()) return;
  store_u16(message, 2, 0);
  store_u16(message, 2, checksum_of(packet, message));
  if (ethernet.value().ether_type != EtherType::kIpv4) return;
  const auto header = packet.first(static_cast<std::size_t>(message.data() - packet.data()));
  store_u16(header, 10, 0);
  store_u16(header, 10, ipv4_header_checksum(header));
}

class Member {
 public:
  void join(std::size_t group) {
    if (members_[group]++ == 0) allowed_reports_ += MulticastReports::kRobustness;
    reports_.join(group_of(group), now_);
  }
  void leave(std::size_t group) {
    if (members_[group] == 0) return;
    if (--members_[group] == 0) allowed_reports_ += MulticastReports::kRobustness;
    reports_.leave(group_of(group), now_);
  }
  void leave_all() {
    for (std::size_t group = 0; group < kGroups; ++group) {
      while (members_[group] > 0) leave(group);
    }
  }
  void receive(std::span<const std::byte> frame) { reports_.on_frame(frame, now_); }

  /// Sends what is due on the way.
  void pass(transport::Duration duration) {
    const transport::Time end = now_ + duration;
    transmit();
    while (reports_.next_timeout() <= end) {
      require(reports_.next_timeout() > now_, "what was due has been sent");
      now_ = reports_.next_timeout();
      transmit();
    }
    now_ = end;
  }

  void require_silence() const {
    require(reports_.next_timeout() == transport::kNever, "nothing is to be said of no groups");
  }

 private:
  void transmit() {
    std::array<std::byte, MulticastReports::kMaxFrameBytes> frame;
    while (const std::size_t size = reports_.poll_transmit(frame, now_)) {
      require(size <= frame.size(), "reports fit into their room");
      check(std::span(frame).first(size));
    }
  }

  void check(std::span<std::byte> frame) {
    const auto ethernet = Ethernet::parse(frame);
    require(ethernet.has_value() && ethernet.value().destination.is_multicast(), "reports go to groups");
    const auto packet = frame.subspan(ethernet.value().header_bytes());
    const auto message = message_in(packet);
    require(!message.empty() && checksum_of(packet, message) == 0, "reports have right checksums");
    const bool is_ipv4 = ethernet.value().ether_type == EtherType::kIpv4;
    require(!is_ipv4 || Ipv4::parse(packet).has_value(), "reports have right IPv4 headers");
    require(!reports_.on_frame(frame, now_), "reports are no queries");
    const unsigned type = load_u8(message, 0);
    const bool has_records = type == 0x22 || type == 143;
    const std::size_t groups = has_records ? load_u16(message, 6) : 1;
    require(groups > 0, "reports are of groups");
    reported_ += groups;
    const auto pauses = static_cast<std::uint64_t>(now_.time_since_epoch() / MulticastReports::kMinPause);
    require(reported_ <= allowed_reports_ + kGroups * (pauses + 1), "reports are not too many");
  }

  const DeviceConfig config_ = config_of_member();
  MulticastReports reports_{config_, GidTable(config_)};
  transport::Time now_{};
  std::array<std::size_t, kGroups> members_{};
  std::uint64_t allowed_reports_ = 0;
  std::uint64_t reported_ = 0;
};

/// The input, from its front on; zeros after its end.
class Script {
 public:
  explicit Script(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool is_at_end() const { return bytes_.empty(); }
  Bytes take(std::size_t size) {
    size = std::min(size, bytes_.size());
    const Bytes taken(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size));
    bytes_ = bytes_.subspan(size);
    return taken;
  }
  unsigned take_u8() {
    const Bytes byte = take(1);
    return byte.empty() ? 0 : std::to_integer<unsigned>(byte[0]);
  }
  unsigned take_u16() {
    const unsigned high = take_u8();
    return high << 8 | take_u8();
  }

 private:
  std::span<const std::byte> bytes_;
};

void play(Script script) {
  Member member;
  while (!script.is_at_end()) {
    const unsigned step = script.take_u8();
    const std::size_t group = (step >> 2) % kGroups;
    switch (step & 3u) {
      case 0:
        member.join(group);
        break;
      case 1:
        member.leave(group);
        break;
      case 2:
        member.pass(script.take_u16() * 10ms);
        break;
      case 3:
        Bytes frame = script.take(script.take_u16());
        if (group % 2 == 1) repair_checksums(frame);
        member.receive(frame);
        break;
    }
  }
  member.leave_all();
  member.pass(2s);
  member.require_silence();
}

}  // namespace
}  // namespace urnic::nic

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::nic::play(urnic::nic::Script(std::as_bytes(std::span(data, size))));
  return 0;
}
