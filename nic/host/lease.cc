// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/lease.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "nic/host/fabric_slots.h"
#include "nic/host/lease_slots.h"
#include "nic/host/lock_file.h"
#include "nic/host/process_state.h"
#include "nic/process/may_wait.h"

namespace urnic::nic {
namespace {

using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::Mac;

/// Default addresses are the hosts from 1 to this one in a network.
constexpr std::uint8_t kLastDefaultAddress = 254;

constexpr auto kRetryPause = std::chrono::milliseconds(10);
/// More, while a program that has a slot is being ended: a large one takes its time to give its memory back.
constexpr auto kEndingPatience = std::chrono::seconds(10);
/// How many times its patience a program waits for those that look for a slot, too: they hold the guard for a
/// few milliseconds each, and when a job starts there may be hundreds of them.
constexpr int kCrowdFactor = 8;

template <typename... Arguments>
Error error(int code, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error{.code = code, .message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

std::string describe(int code) {
  return std::generic_category().message(code);
}

constexpr Ipv4Address host_in(Ipv4Address network, std::size_t number) {
  network.octets[3] = static_cast<std::uint8_t>(number);
  return network;
}

bool may_use(const Lease::Request& request, std::size_t slot) {
  if (request.any_slot) return true;
  switch (request.port.kind) {
    case PortSpec::Kind::kVhost:
      return slot == (request.port.side == PortSpec::VhostSide::kFront ? 0u : 1u);
    case PortSpec::Kind::kFabric:
      return slot == request.port.slot;
    case PortSpec::Kind::kAfPacket:
    case PortSpec::Kind::kAfXdp:
    case PortSpec::Kind::kPci:
    case PortSpec::Kind::kLoopback:
    case PortSpec::Kind::kUdp:
    case PortSpec::Kind::kHost:
    case PortSpec::Kind::kBench:
      break;
  }
  return true;
}

Error no_slot(const Lease::Request& request, const std::vector<LeaseRecord>& others) {
  const std::string& target = request.port.target;
  if (request.port.kind == PortSpec::Kind::kFabric) {
    if (!request.any_slot) {
      return error(EBUSY, "port {} of fabric {} is taken; end that program, or leave the number away",
                   request.port.slot, target);
    }
    return error(
        EBUSY,
        "all {} ports of fabric {} are taken; end a program ('urnic fabric status' lists them), or use "
        "another fabric with --port fabric:NAME",
        kFabricPorts, target);
  }
  if (request.port.kind != PortSpec::Kind::kVhost) {
    return error(EBUSY, "interface {} has {} NICs of this user already; end one of them", target,
                 others.size());
  }
  std::string processes;
  for (const LeaseRecord& other : others) {
    processes += fmt::format("{}{}", processes.empty() ? "" : " and ", other.process);
  }
  if (!request.any_slot) {
    return error(EBUSY, "the {} of vhost {} is taken (process {}); end that program or take the other side",
                 request.port.side == PortSpec::VhostSide::kFront ? "front" : "back", target, processes);
  }
  return error(
      EBUSY,
      "both ends of the wire {} are taken (processes {}), and it has no more than two; end one of them, give "
      "two programs a wire of their own with --port vhost:PATH, or have more meet with --port fabric",
      target, processes);
}

/// The first free default address, beginning with the slot's.
std::optional<Ipv4Address> free_address(Ipv4Address network, std::size_t slot, std::size_t count,
                                        const std::vector<LeaseRecord>& others) {
  for (std::size_t i = 0; i < count; ++i) {
    const Ipv4Address candidate = host_in(network, (slot + i) % count + 1);
    const auto has_it = [&](const LeaseRecord& other) { return other.ipv4 == candidate; };
    if (std::none_of(others.begin(), others.end(), has_it)) return candidate;
  }
  return std::nullopt;
}

/// An error when another NIC on the wire has that address.
template <typename Address>
Result<void, Error> check_is_free(std::optional<Address> LeaseRecord::*address, const LeaseRecord& mine,
                                  const std::vector<LeaseRecord>& others) {
  for (const LeaseRecord& other : others) {
    if (mine.*address && mine.*address == other.*address) {
      return error(EADDRINUSE, "address {} is taken by process {}; choose another",
                   to_string(*(mine.*address)), other.process);
    }
  }
  return success();
}

/// What the request leaves open, and whether another NIC on the wire has what it asks for.
Result<LeaseRecord, Error> choose_addresses(const LeaseSlots& wire, const Lease::Request& request,
                                            std::size_t slot, const std::vector<LeaseRecord>& others) {
  LeaseRecord mine{.process = getpid(), .ipv4 = request.ipv4, .ipv6 = request.ipv6, .mac = {}};
  const bool is_fabric = request.port.kind == PortSpec::Kind::kFabric;
  if (!mine.ipv4 && (is_fabric || request.port.kind == PortSpec::Kind::kVhost)) {
    const auto network = default_network(wire);
    if (!network) return network.error();
    mine.ipv4 = free_address(network.value(), slot, is_fabric ? kLastDefaultAddress : 2, others);
  }
  mine.mac = request.mac.value_or(mac_for(mine.ipv4, mine.ipv6));
  if (auto free = check_is_free(&LeaseRecord::ipv4, mine, others); !free) return free.error();
  if (auto free = check_is_free(&LeaseRecord::ipv6, mine, others); !free) return free.error();
  if (auto free = check_is_free(&LeaseRecord::mac, mine, others); !free) return free.error();
  return mine;
}

/// A loopback has no other NIC, a bench decides itself whom it talks to, and those that share the host's
/// addresses get what is theirs from its switch.
bool needs_slot(const PortSpec& port) {
  using Kind = PortSpec::Kind;
  return port.kind != Kind::kLoopback && port.kind != Kind::kBench && port.kind != Kind::kHost;
}

/// A slot that is ours now.
struct Taken {
  LockFile file;
  std::size_t slot;
  LeaseRecord record;
};

/// `others` become those that have a slot.
Result<Taken, Error> try_take(const LeaseSlots& wire, const Lease::Request& request,
                              std::vector<LeaseRecord>& others) {
  const auto guard = lock_guard(wire, kCrowdFactor * request.patience);
  if (!guard) return guard.error();

  std::optional<std::size_t> slot;
  LockFile mine;
  others.clear();
  for (std::size_t i = 0; i < wire.slots.size(); ++i) {
    const bool wanted = !slot && may_use(request, i);
    auto file = LockFile::open(wire.slots[i], wanted ? LockFile::Missing::kCreate : LockFile::Missing::kFail);
    if (!file) {
      if (!wanted && file.error().code == ENOENT) continue;
      return file.error();
    }
    if (is_held_elsewhere(file.value())) {
      others.push_back(read_lease_record(file.value()));
    } else if (wanted) {
      slot = i;
      mine = std::move(file.value());
    }
  }
  if (!slot) return no_slot(request, others);
  auto record = choose_addresses(wire, request, *slot, others);
  if (!record) return record.error();
  if (auto written = write_lease_record(mine, record.value()); !written) return written.error();
  return Taken{.file = std::move(mine), .slot = *slot, .record = record.value()};
}

/// The slot with these addresses, if no other process uses it; otherwise no file.
Result<LockFile, Error> try_claim(const LeaseSlots& wire, const Lease::Request& exported) {
  const auto guard = lock_guard(wire, kCrowdFactor * exported.patience);
  if (!guard) return guard.error();
  for (std::size_t i = 0; i < wire.slots.size(); ++i) {
    if (!may_use(exported, i)) continue;
    auto file = LockFile::open(wire.slots[i], LockFile::Missing::kFail);
    if (!file) continue;
    const LeaseRecord record = read_lease_record(file.value());
    if (record.ipv4 == exported.ipv4 && record.ipv6 == exported.ipv6 && file.value().try_claim()) {
      // Free only where the launcher and all that it handed the lock to have ended or closed it.
      static_cast<void>(file.value().try_lock());
      return file;
    }
  }
  return LockFile();
}

bool is_same_file(int one, int other) {
  struct stat first {};
  struct stat second {};
  return one >= 0 && one != other && fstat(one, &first) == 0 && fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// What `attempt` returns when it succeeds, fails for good, or the patience is over. `may_end_soon` says
/// whether more of it is worth the while.
template <typename Attempt, typename MayEndSoon>
auto with_patience(const Lease::Request& request, Attempt attempt, MayEndSoon may_end_soon)
    -> decltype(attempt()) {
  assert_may_wait();
  const auto give_up = std::chrono::steady_clock::now() + request.patience;
  auto result = attempt();
  while (!result && (result.error().code == EBUSY || result.error().code == EADDRINUSE)) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= give_up && (now >= give_up + kEndingPatience || !may_end_soon())) break;
    std::this_thread::sleep_for(kRetryPause);
    result = attempt();
  }
  return result;
}

bool has_any_ending(const std::vector<LeaseRecord>& holders) {
  return std::ranges::any_of(holders, [](const LeaseRecord& holder) { return is_ending(holder.process); });
}

}  // namespace

Result<Lease, Error> Lease::take(const Request& request) {
  Lease lease;
  lease.port_ = request.port;
  if (request.port.kind == PortSpec::Kind::kHost) return lease;
  if (!needs_slot(request.port)) {
    lease.ipv4_ = request.ipv4.value_or(Ipv4Address{{10, 77, 0, 1}});
    return lease;
  }
  const auto wire = LeaseSlots::of(request.port);
  if (!wire) return wire.error();
  std::vector<LeaseRecord> others;
  auto taken = with_patience(
      request, [&] { return try_take(wire.value(), request, others); },
      [&] { return has_any_ending(others); });
  if (!taken) return taken.error();
  lease.file_ = taken.value().file.release();
  lease.ipv4_ = taken.value().record.ipv4;
  if (request.port.kind == PortSpec::Kind::kVhost) {
    lease.port_.side = taken.value().slot == 0 ? PortSpec::VhostSide::kFront : PortSpec::VhostSide::kBack;
  }
  lease.port_.slot = static_cast<unsigned>(taken.value().slot);
  return lease;
}

std::optional<Lease> Lease::adopt(const Request& exported, int launchers) {
  const auto wire = LeaseSlots::of(exported.port);
  if (!needs_slot(exported.port) || !wire) return std::nullopt;
  auto claimed = with_patience(
      exported, [&] { return try_claim(wire.value(), exported); }, [] { return false; });
  if (!claimed || claimed.value().fd() < 0) return std::nullopt;
  Lease lease;
  lease.file_ = claimed.value().release();
  if (is_same_file(launchers, lease.file_.get())) lease.launchers_ = Descriptor(launchers);
  lease.port_ = exported.port;
  return lease;
}

Result<void, Error> Lease::keep_over_exec() const {
  if (is_held() && fcntl(descriptor(), F_SETFD, 0) != 0) {
    return error(errno, "cannot hand the lease on: {}", describe(errno));
  }
  return success();
}

Mac mac_for(const std::optional<Ipv4Address>& ipv4, const std::optional<Ipv6Address>& ipv6) {
  if (ipv4) {
    const auto& octet = ipv4->octets;
    return Mac{{0x02, 0x00, octet[0], octet[1], octet[2], octet[3]}};
  }
  // FNV-1a: all 16 octets count, and nothing secret is at stake.
  std::uint32_t hash = 2166136261u;
  for (const std::uint8_t octet : ipv6.value_or(Ipv6Address{}).octets) hash = (hash ^ octet) * 16777619u;
  return Mac{{0x02, 0x01, static_cast<std::uint8_t>(hash >> 24), static_cast<std::uint8_t>(hash >> 16),
              static_cast<std::uint8_t>(hash >> 8), static_cast<std::uint8_t>(hash)}};
}

}  // namespace urnic::nic
