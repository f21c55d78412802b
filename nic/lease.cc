#include "nic/lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "nic/lock_file.h"

namespace urnic::nic {
namespace {

using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::Mac;

constexpr Ipv4Address kFrontAddress{{10, 77, 0, 1}};
constexpr Ipv4Address kBackAddress{{10, 77, 0, 2}};

/// How many NICs of one user share an interface.
constexpr std::size_t kInterfaceSlots = 64;

constexpr auto kRetryPause = std::chrono::milliseconds(10);

template <typename... Arguments>
Error error(int code, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error{.code = code, .message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

std::string describe(int code) {
  return std::generic_category().message(code);
}

/// Where the slots of a wire are.
struct Wire {
  std::string guard;               ///< locked by whoever looks at several slots
  std::vector<std::string> slots;  ///< of a vhost wire: front, back
};

/// What a slot file says about its holder. Whatever it does not say is left empty: it may be torn or
/// hand-written.
struct Record {
  int process = 0;
  std::optional<Ipv4Address> ipv4;
  std::optional<Ipv6Address> ipv6;
};

Result<Wire, Error> wire_of(const PortSpec& port) {
  if (port.kind == PortSpec::Kind::kVhost) {
    return Wire{.guard = port.target + ".lock", .slots = {port.target + ".front", port.target + ".back"}};
  }
  auto folder = private_folder();
  if (!folder) {
    return folder.error();
  }
  Wire wire{.guard = fmt::format("{}/{}.lock", folder.value(), port.target), .slots = {}};
  for (std::size_t i = 0; i < kInterfaceSlots; ++i) {
    wire.slots.push_back(fmt::format("{}/{}.{}", folder.value(), port.target, i));
  }
  return wire;
}

Record read_record(const LockFile& file) {
  std::array<char, 256> buffer{};
  const ssize_t bytes = pread(file.fd(), buffer.data(), buffer.size(), 0);
  std::string_view text(buffer.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  Record record;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) {
      continue;
    }
    const std::string_view key = line.substr(0, space);
    const std::string_view value = line.substr(space + 1);
    if (key == "process") {
      std::from_chars(value.data(), value.data() + value.size(), record.process);
    } else if (key == "ipv4") {
      record.ipv4 = Ipv4Address::parse(value);
    } else if (key == "ipv6") {
      record.ipv6 = Ipv6Address::parse(value);
    }
  }
  return record;
}

Result<void, Error> write_record(const LockFile& file, const Record& record) {
  std::string text = fmt::format("process {}\n", record.process);
  if (record.ipv4) {
    text += fmt::format("ipv4 {}\n", to_string(*record.ipv4));
  }
  if (record.ipv6) {
    text += fmt::format("ipv6 {}\n", to_string(*record.ipv6));
  }
  if (ftruncate(file.fd(), 0) != 0 ||
      pwrite(file.fd(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return error(errno, "cannot write the lease: {}", describe(errno));
  }
  return success();
}

bool may_use(const Lease::Request& request, std::size_t slot) {
  if (request.port.kind != PortSpec::Kind::kVhost || request.either_side) {
    return true;
  }
  return slot == (request.port.side == PortSpec::VhostSide::kFront ? 0u : 1u);
}

Error no_slot(const Lease::Request& request, const std::vector<Record>& others) {
  std::string processes;
  for (const Record& other : others) {
    processes += fmt::format("{}{}", processes.empty() ? "" : " and ", other.process);
  }
  const std::string& target = request.port.target;
  if (request.port.kind != PortSpec::Kind::kVhost) {
    return error(EBUSY, "interface {} has {} NICs of this user already; end one of them", target,
                 others.size());
  }
  if (!request.either_side) {
    return error(EBUSY, "the {} of vhost {} is taken (process {}); end that program or take the other side",
                 request.port.side == PortSpec::VhostSide::kFront ? "front" : "back", target, processes);
  }
  return error(
      EBUSY,
      "both ends of the wire {} are taken (processes {}), and it has no more than two; end one of them, or "
      "give two programs a wire of their own with --port vhost:PATH",
      target, processes);
}

/// What the request leaves open, and whether somebody on the wire has what it asks for.
Result<Record, Error> choose_addresses(const Lease::Request& request, std::size_t slot,
                                       const std::vector<Record>& others) {
  Record mine{.process = getpid(), .ipv4 = request.ipv4, .ipv6 = request.ipv6};
  for (const Record& other : others) {
    if (mine.ipv4 && mine.ipv4 == other.ipv4) {
      return error(EADDRINUSE, "address {} is taken by process {}; choose another", to_string(*mine.ipv4),
                   other.process);
    }
    if (mine.ipv6 && mine.ipv6 == other.ipv6) {
      return error(EADDRINUSE, "address {} is taken by process {}; choose another", to_string(*mine.ipv6),
                   other.process);
    }
  }
  if (!mine.ipv4 && request.port.kind == PortSpec::Kind::kVhost) {
    mine.ipv4 = slot == 0 ? kFrontAddress : kBackAddress;
    for (const Record& other : others) {
      if (mine.ipv4 == other.ipv4) {
        mine.ipv4 = slot == 0 ? kBackAddress : kFrontAddress;
      }
    }
  }
  return mine;
}

/// A slot that is ours now.
struct Taken {
  LockFile file;
  std::size_t slot;
  Record record;
};

Result<Taken, Error> try_take(const Wire& wire, const Lease::Request& request) {
  auto guard = LockFile::open(wire.guard, LockFile::Missing::kCreate);
  if (!guard) {
    return guard.error();
  }
  if (!guard.value().try_lock()) {
    return error(EBUSY, "somebody keeps {} locked", wire.guard);
  }

  std::optional<std::size_t> slot;
  LockFile mine;
  std::vector<Record> others;
  for (std::size_t i = 0; i < wire.slots.size(); ++i) {
    const bool wanted = !slot && may_use(request, i);
    auto file = LockFile::open(wire.slots[i], wanted ? LockFile::Missing::kCreate : LockFile::Missing::kFail);
    if (!file) {
      if (!wanted && file.error().code == ENOENT) {
        continue;
      }
      return file.error();
    }
    if (!file.value().try_lock()) {
      others.push_back(read_record(file.value()));
    } else if (wanted) {
      slot = i;
      mine = std::move(file.value());
    }
  }
  if (!slot) {
    return no_slot(request, others);
  }
  auto record = choose_addresses(request, *slot, others);
  if (!record) {
    return record.error();
  }
  if (auto written = write_record(mine, record.value()); !written) {
    return written.error();
  }
  return Taken{.file = std::move(mine), .slot = *slot, .record = record.value()};
}

}  // namespace

Lease::~Lease() {
  if (owned_ && fd_ >= 0) {
    close(fd_);
  }
}

Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(owned_, other.owned_);
  std::swap(port_, other.port_);
  std::swap(ipv4_, other.ipv4_);
  return *this;
}

Result<Lease, Error> Lease::take(const Request& request) {
  Lease lease;
  lease.port_ = request.port;
  if (request.port.kind == PortSpec::Kind::kLoopback) {
    lease.ipv4_ = request.ipv4.value_or(kFrontAddress);
    return lease;
  }
  const auto wire = wire_of(request.port);
  if (!wire) {
    return wire.error();
  }
  const auto give_up = std::chrono::steady_clock::now() + request.patience;
  auto taken = try_take(wire.value(), request);
  while (!taken && (taken.error().code == EBUSY || taken.error().code == EADDRINUSE) &&
         std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kRetryPause);
    taken = try_take(wire.value(), request);
  }
  if (!taken) {
    return taken.error();
  }
  lease.fd_ = taken.value().file.release();
  lease.owned_ = true;
  lease.ipv4_ = taken.value().record.ipv4;
  if (request.port.kind == PortSpec::Kind::kVhost) {
    lease.port_.side = taken.value().slot == 0 ? PortSpec::VhostSide::kFront : PortSpec::VhostSide::kBack;
  }
  return lease;
}

std::optional<Lease> Lease::adopt(int fd, const PortSpec& port) {
  struct stat inherited {};
  if (port.kind == PortSpec::Kind::kLoopback || fstat(fd, &inherited) != 0) {
    return std::nullopt;
  }
  const auto wire = wire_of(port);
  if (!wire) {
    return std::nullopt;
  }
  const Request as_given{.port = port, .either_side = false, .ipv4 = {}, .ipv6 = {}, .patience = {}};
  for (std::size_t i = 0; i < wire.value().slots.size(); ++i) {
    struct stat slot {};
    if (!may_use(as_given, i) || lstat(wire.value().slots[i].c_str(), &slot) != 0 ||
        slot.st_dev != inherited.st_dev || slot.st_ino != inherited.st_ino) {
      continue;
    }
    // On the open file that holds the lock, locking again does nothing and succeeds.
    if (!S_ISREG(inherited.st_mode) || inherited.st_uid != geteuid() || flock(fd, LOCK_EX | LOCK_NB) != 0) {
      return std::nullopt;
    }
    Lease lease;
    lease.fd_ = fd;
    lease.port_ = port;
    return lease;
  }
  return std::nullopt;
}

Result<void, Error> Lease::keep_over_exec() const {
  if (is_held() && fcntl(fd_, F_SETFD, 0) != 0) {
    return error(errno, "cannot hand the lease on: {}", describe(errno));
  }
  return success();
}

Result<void, Error> Lease::claim() const {
  if (!is_held()) {
    return success();
  }
  // Unlike the lease's flock(), which everybody who inherited the descriptor holds together, a record lock is
  // one process's.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(fd_, F_SETLK, &lock) == 0) {
    return success();
  }
  if (errno != EACCES && errno != EAGAIN) {
    return error(errno, "cannot lock the lease: {}", describe(errno));
  }
  return error(EBUSY,
               "another process of the same 'urnic run' has this NIC open; give the second program a NIC of "
               "its own with a "
               "second 'urnic run'");
}

Mac mac_for(const std::optional<Ipv4Address>& ipv4, const std::optional<Ipv6Address>& ipv6) {
  if (ipv4) {
    const auto& octet = ipv4->octets;
    return Mac{{0x02, 0x00, octet[0], octet[1], octet[2], octet[3]}};
  }
  // FNV-1a: all 16 octets count, and nothing secret is at stake.
  std::uint32_t hash = 2166136261u;
  for (const std::uint8_t octet : ipv6.value_or(Ipv6Address{}).octets) {
    hash = (hash ^ octet) * 16777619u;
  }
  return Mac{{0x02, 0x01, static_cast<std::uint8_t>(hash >> 24), static_cast<std::uint8_t>(hash >> 16),
              static_cast<std::uint8_t>(hash >> 8), static_cast<std::uint8_t>(hash)}};
}

}  // namespace urnic::nic
