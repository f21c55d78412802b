// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/failure_findings.h"

#include <fmt/core.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "transport/observer.h"
#include "transport/wire/opcode.h"

namespace urnic::verbs_api {
namespace {

using Cause = nic::FailureCause;
using Kind = nic::FailureReport::Kind;

/// A region that is deregistered while its peer goes on is deregistered a moment ago.
constexpr std::chrono::seconds kMoment{1};

constexpr std::uint32_t swapped(std::uint32_t value) {
  return __builtin_bswap32(value);
}

/// `address` as it may have been before a wrong conversion, if it is within `region` then.
std::optional<std::uint64_t> before_conversion(std::uint64_t address, const nic::MemoryRegion& region) {
  const auto low = static_cast<std::uint32_t>(address);
  const auto high = static_cast<std::uint32_t>(address >> 32);
  const std::uint64_t upper_half = region.address >> 32;
  const std::uint64_t candidates[] = {
      __builtin_bswap64(address),                             // never converted
      std::uint64_t{swapped(high)} << 32 | swapped(low),      // its halves by htonl()
      high == 0 ? upper_half << 32 | low : address,           // cut to 32 bits
      high == 0 ? upper_half << 32 | swapped(low) : address,  // likewise, and not converted
  };
  for (const std::uint64_t candidate : candidates) {
    if (candidate != address && candidate - region.address < region.length) return candidate;
  }
  return std::nullopt;
}

std::string text_of(std::optional<unsigned> number) {
  return number ? std::to_string(*number) : "not known";
}

double seconds_since(SanitizerTime when) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - when).count();
}

}  // namespace

void FailureFindings::on_tick() {
  device_.look(std::chrono::steady_clock::now());
}

void FailureFindings::on_failure(const nic::FailureReport& report) {
  const bool is_of_program = report.kind == Kind::kRefusal || report.kind == Kind::kCompletion ||
                             report.kind == Kind::kReceiveMissing || report.kind == Kind::kDropped;
  if (!is_of_program) return;
  const std::string name = fmt::format("QP {:#x}", to_integer(report.qp.number));
  if (report.kind == Kind::kReceiveMissing) {
    return complaints_.complain_of(CallPath(), Finding::kReceivePostedLate, name, [&] {
      return fmt::format("a SEND came, and no receive was posted{}",
                         report.min_rnr_timer == 0 ? "; min_rnr_timer 0 lets the peer wait for 655 ms" : "");
    });
  }
  if (report.kind == Kind::kDropped) {
    return complaints_.complain_of(CallPath(), Finding::kDatagramDropped, name, [] {
      return std::string("a message came, no receive was posted, and the message was dropped");
    });
  }
  if (report.kind == Kind::kCompletion) check_remote_key(report, name);
  // The program may have destroyed it meanwhile.
  const auto ledger = device_.find(report.qp.number);
  if (ledger != nullptr && report.kind == Kind::kRefusal && report.refused) {
    ledger->failed(std::chrono::steady_clock::now(), transport::name_of(report.refused->reason));
  }
  check(report, nic::cause_of(report), name);
}

void FailureFindings::check(const nic::FailureReport& report, Cause cause, const std::string& name) {
  if (cause == Cause::kMemoryGone) return check_memory(report, name);
  if (!report.refused || report.kind != Kind::kRefusal) return;
  switch (cause) {
    case Cause::kTooManyReads:
      return check_depth(report, name);
    case Cause::kStaleKey:
      return check_key(report, true, name);
    case Cause::kUnknownKey:
      return check_key(report, false, name);
    case Cause::kOutOfBounds:
      return check_address(report, name);
    case Cause::kRightMissing:
    case Cause::kOperationNotAllowed:
      return complaints_.complain_of(CallPath(), Finding::kRemoteRightMissing, name, [&] {
        return fmt::format("a request of the peer ({}) was refused, because {} does not allow it",
                           transport::wire::info(report.refused->opcode).name,
                           cause == Cause::kRightMissing
                               ? fmt::format("the region of key {:#x}", to_integer(report.refused->rkey))
                               : "qp_access_flags");
      });
    default:
      return;
  }
}

/// Pages of memory with on-demand paging may go. Of an element of our own the region is not known.
void FailureFindings::check_memory(const nic::FailureReport& report, const std::string& name) {
  const bool is_known = report.key.is_known;
  const bool is_mapped =
      is_known ? report.key.range.backing == nic::Backing::kMapped : device_.memory().has_only_mapped();
  if (!is_mapped) return;
  complaints_.complain_of(CallPath(), Finding::kMemoryGone, name, [&] {
    return is_known ? fmt::format("memory of the region of key {:#x} cannot be accessed any more",
                                  report.key.range.key)
                    : fmt::format("memory that {} wr_id {} names cannot be accessed any more",
                                  report.is_receive ? "the receive" : "the send", report.completion.wr_id);
  });
}

void FailureFindings::check_depth(const nic::FailureReport& report, const std::string& name) {
  complaints_.complain_of(CallPath(), Finding::kResponderResourcesExceeded, name, [&] {
    const auto own = device_.find(report.qp.number);
    const auto peer = device_.find(report.qp.peer_qp);
    std::string text = "the peer";
    if (peer != nullptr) {
      text += fmt::format(" ({}, max_rd_atomic {})", peer->name(), text_of(peer->read_depth().as_requester));
    }
    text += " has more READs and atomics outstanding than max_dest_rd_atomic here";
    if (own != nullptr) text += fmt::format(", which is {}", text_of(own->read_depth().as_responder));
    return text;
  });
}

void FailureFindings::check_key(const nic::FailureReport& report, bool is_of_earlier,
                                const std::string& name) {
  const std::uint32_t key = to_integer(report.refused->rkey);
  const auto ended = device_.memory().ended(key);
  if (ended && std::chrono::steady_clock::now() - ended->when < kMoment) {
    return complaints_.complain_of(ended->calls, Finding::kRegionDeregisteredUnderPeer, name, [&] {
      return fmt::format("the peer reaches for rkey {:#x}, which was deregistered {:.0f} ms ago", key,
                         seconds_since(ended->when) * 1000);
    });
  }
  if (ended || is_of_earlier) {
    return complaints_.complain_of(CallPath(), Finding::kStaleRemoteKey, name, [&] {
      return fmt::format("the peer reaches for rkey {:#x}, which {}", key,
                         ended ? fmt::format("was deregistered {:.1f} s ago", seconds_since(ended->when))
                               : "was of another region or window before");
    });
  }
  if (!device_.memory().is_registered(swapped(key))) return;
  complaints_.complain_of(CallPath(), Finding::kByteSwappedAddress, name, [&] {
    return fmt::format(
        "the peer reaches for rkey {:#x}, which there is not; {:#x}, its bytes the other way "
        "round, is one",
        key, swapped(key));
  });
}

/// The peer has refused the key. A peer in this process may have any key of this device.
void FailureFindings::check_remote_key(const nic::FailureReport& report, const std::string& name) {
  const bool is_refused = report.completion.status == transport::CompletionStatus::kRemoteAccessError;
  if (!is_refused || !report.request || device_.find(report.qp.peer_qp) != nullptr) return;
  const std::uint32_t key = to_integer(report.request->rkey);
  if (!device_.memory().is_registered(key)) return;
  complaints_.complain_of(CallPath(), Finding::kLocalKeyAsRemoteKey, name, [&] {
    return fmt::format("the peer has refused wr_id {}, whose rkey {:#x} is of a region of this program",
                       report.completion.wr_id, key);
  });
}

void FailureFindings::check_address(const nic::FailureReport& report, const std::string& name) {
  if (!report.key.is_known) return;
  const auto meant = before_conversion(report.refused->address, report.key.range);
  if (!meant) return;
  complaints_.complain_of(CallPath(), Finding::kByteSwappedAddress, name, [&] {
    return fmt::format(
        "the peer reaches for address {:#x}, which is outside of the region of rkey {:#x}; {:#x}, its "
        "bytes in the right order, is within",
        report.refused->address, to_integer(report.refused->rkey), *meant);
  });
}

}  // namespace urnic::verbs_api
