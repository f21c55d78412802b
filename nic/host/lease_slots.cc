// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/lease_slots.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <thread>

#include "nic/host/fabric_folder.h"
#include "nic/host/fabric_slots.h"
#include "nic/host/random_bits.h"
#include "nic/process/may_wait.h"

namespace urnic::nic {
namespace {

using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::Mac;

/// How many NICs of one user share an interface.
constexpr std::size_t kInterfaceSlots = 64;

constexpr auto kGuardPause = std::chrono::milliseconds(1);
/// Of who only wants to know who is there.
constexpr auto kLookPatience = std::chrono::seconds(1);

constexpr Ipv4Address kNetworkOfPairs{{10, 77, 0, 0}};

/// One of 10.64.0.0 to 10.127.255.0.
Ipv4Address draw_network() {
  const auto drawn = random_bits();
  return {{10, static_cast<std::uint8_t>(64 | (drawn >> 8 & 63)), static_cast<std::uint8_t>(drawn), 0}};
}

std::string read_text(const LockFile& file) {
  std::array<char, 256> buffer{};
  const ssize_t bytes = pread(file.fd(), buffer.data(), buffer.size(), 0);
  return std::string(buffer.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
}

/// `what` is for the error, which is the system's.
Result<void, Error> write_text(const LockFile& file, const std::string& text, std::string_view what) {
  if (ftruncate(file.fd(), 0) != 0 ||
      pwrite(file.fd(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    const int code = errno;
    return Error{.code = code,
                 .message = fmt::format("cannot write {}: {}", what, std::generic_category().message(code))};
  }
  return success();
}

}  // namespace

Result<LeaseSlots, Error> LeaseSlots::of(const PortSpec& port) {
  if (port.kind == PortSpec::Kind::kVhost) {
    return LeaseSlots{.guard = port.target + ".lock",
                      .slots = {port.target + ".front", port.target + ".back"}};
  }
  LeaseSlots wire;
  if (port.kind == PortSpec::Kind::kFabric) {
    const auto folder = FabricFolder::open(port.target);
    if (!folder) return folder.error();
    wire.guard = folder.value().guard();
    wire.network = folder.value().network();
    for (unsigned i = 0; i < kFabricPorts; ++i) wire.slots.push_back(folder.value().slot(i));
    return wire;
  }
  const auto folder = private_folder();
  if (!folder) return folder.error();
  const std::string name = port.kind == PortSpec::Kind::kUdp ? "udp:" + port.target : port.target;
  wire.guard = fmt::format("{}/{}.lock", folder.value(), name);
  for (std::size_t i = 0; i < kInterfaceSlots; ++i) {
    wire.slots.push_back(fmt::format("{}/{}.{}", folder.value(), name, i));
  }
  return wire;
}

Result<Ipv4Address, Error> default_network(const LeaseSlots& wire) {
  if (wire.network.empty()) return kNetworkOfPairs;
  const auto file = LockFile::open(wire.network, LockFile::Missing::kCreate);
  if (!file) return file.error();
  const std::string text = read_text(file.value());
  const auto kept = Ipv4Address::parse(std::string_view(text).substr(0, text.find('\n')));
  if (kept && kept->octets[0] == 10 && kept->octets[3] == 0) return *kept;
  const Ipv4Address drawn = draw_network();
  if (auto written = write_text(file.value(), to_string(drawn) + "\n", "the fabric's network"); !written) {
    return written.error();
  }
  return drawn;
}

// The program that uses a slot may have outlived the launcher whose lock it did not inherit.
bool is_held_elsewhere(const LockFile& file) {
  return !file.try_lock() || file.is_claimed();
}

LeaseRecord read_lease_record(const LockFile& file) {
  const std::string whole = read_text(file);
  std::string_view text = whole;
  LeaseRecord record;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, space);
    const std::string_view value = line.substr(space + 1);
    if (key == "process") {
      std::from_chars(value.data(), value.data() + value.size(), record.process);
    } else if (key == "ipv4") {
      record.ipv4 = Ipv4Address::parse(value);
    } else if (key == "ipv6") {
      record.ipv6 = Ipv6Address::parse(value);
    } else if (key == "mac") {
      record.mac = Mac::parse(value);
    }
  }
  return record;
}

Result<void, Error> write_lease_record(const LockFile& file, const LeaseRecord& record) {
  std::string text = fmt::format("process {}\n", record.process);
  if (record.ipv4) text += fmt::format("ipv4 {}\n", to_string(*record.ipv4));
  if (record.ipv6) text += fmt::format("ipv6 {}\n", to_string(*record.ipv6));
  if (record.mac) text += fmt::format("mac {}\n", to_string(*record.mac));
  return write_text(file, text, "the lease");
}

Result<LockFile, Error> lock_guard(const LeaseSlots& wire, std::chrono::milliseconds patience) {
  assert_may_wait();
  auto guard = LockFile::open(wire.guard, LockFile::Missing::kCreate);
  if (!guard) return guard;
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (!guard.value().try_lock()) {
    if (std::chrono::steady_clock::now() >= give_up) {
      return Error{.code = EBUSY,
                   .message = fmt::format(
                       "another process keeps {} locked; end it, or set XDG_RUNTIME_DIR to another folder",
                       wire.guard)};
    }
    std::this_thread::sleep_for(kGuardPause);
  }
  return guard;
}

Result<std::vector<HeldSlot>, Error> held_slots(const PortSpec& port) {
  const auto wire = LeaseSlots::of(port);
  if (!wire) return wire.error();
  // Whether a slot is taken is found out by taking it, so no other program may look for a free one meanwhile.
  const auto guard = lock_guard(wire.value(), kLookPatience);
  if (!guard) return guard.error();
  std::vector<HeldSlot> held;
  for (std::size_t i = 0; i < wire.value().slots.size(); ++i) {
    const auto file = LockFile::open(wire.value().slots[i], LockFile::Missing::kFail);
    if (file && is_held_elsewhere(file.value())) {
      held.push_back({.slot = static_cast<unsigned>(i), .record = read_lease_record(file.value())});
    }
  }
  return held;
}

}  // namespace urnic::nic
