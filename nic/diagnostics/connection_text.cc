// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/connection_text.h"

#include <fmt/core.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "nic/diagnostics/snapshot_names.h"
#include "transport/types.h"

namespace urnic::nic {

using cm::RejectReason;
using cm::SidrStatus;
using rdma_cm::ConnectionFailure;
using Cause = FailureCause;
using Kind = ConnectionFailure::Kind;

namespace {

/// What the reasons mean that programs meet; "" for others.
std::string_view reason_text(RejectReason reason) {
  switch (reason) {
    case RejectReason::kNoQp:
      return "no queue pair";
    case RejectReason::kNoResources:
      return "no resources";
    case RejectReason::kTimeout:
      return "timeout";
    case RejectReason::kUnsupported:
      return "unsupported request";
    case RejectReason::kInvalidCommunicationId:
      return "invalid communication ID";
    case RejectReason::kInvalidServiceId:
      return "invalid service ID";
    case RejectReason::kInvalidTransportType:
      return "invalid transport type";
    case RejectReason::kStaleConnection:
      return "stale connection";
    case RejectReason::kInvalidGid:
      return "invalid GID";
    case RejectReason::kInvalidMtu:
      return "invalid path MTU";
    case RejectReason::kInsufficientResponderResources:
      return "insufficient responder resources";
    case RejectReason::kConsumerDefined:
      return "consumer defined";
    case RejectReason::kInvalidRnrRetry:
      return "invalid RNR retry count";
    case RejectReason::kDuplicateLocalCommunicationId:
      return "duplicate local communication ID";
    case RejectReason::kInvalidClassVersion:
      return "invalid class version";
    default:
      return "";
  }
}

/// "REJ 8, invalid service ID"
std::string reject_text(RejectReason reason) {
  const std::string_view words = reason_text(reason);
  return fmt::format("REJ {}{}{}", transport::to_integer(reason), words.empty() ? "" : ", ", words);
}

std::string address_of(const rdma_cm::SocketAddress& address) {
  return address_text(address.address);
}

Cause cause_of_reason(RejectReason reason, bool is_ours) {
  switch (reason) {
    case RejectReason::kInvalidServiceId:
      return is_ours ? Cause::kNoListenerHere : Cause::kNoListener;
    case RejectReason::kStaleConnection:
      return Cause::kStaleConnection;
    case RejectReason::kInvalidGid:
      return Cause::kForeignAddress;
    case RejectReason::kInvalidMtu:
      return Cause::kPathMtuTooLarge;
    case RejectReason::kConsumerDefined:
      return Cause::kRejectedByProgram;
    case RejectReason::kTimeout:
      return Cause::kPeerGaveUp;
    default:
      return Cause::kOtherReject;
  }
}

std::string why_rejected(const ConnectionFailure& failure) {
  const std::string peer = address_of(failure.peer);
  switch (failure.reason) {
    case RejectReason::kInvalidServiceId:
      return fmt::format("{} has no listener at port {}", peer, failure.peer.port);
    case RejectReason::kStaleConnection:
      return fmt::format("{} is, as far as it knows, still connected with our queue pair", peer);
    case RejectReason::kInvalidGid:
      return fmt::format("our address {} is not the one that {} got the request from, or its own is another",
                         address_of(failure.local), peer);
    case RejectReason::kInvalidMtu:
      return fmt::format("we asked for a path MTU of {}, and the link of {} is smaller",
                         bytes(failure.path_mtu), peer);
    case RejectReason::kConsumerDefined:
      return fmt::format("the program at {} rejected it", to_string(failure.peer));
    case RejectReason::kTimeout:
      return fmt::format("{} has waited long enough for {}", peer,
                         failure.is_passive ? "our program's answer" : "our answer to its REP");
    default:
      return fmt::format("{} gives this reason and no other", peer);
  }
}

std::string why_refused(const FailureReport& report) {
  const ConnectionFailure& failure = *report.connection;
  const std::string peer = address_of(failure.peer);
  switch (failure.reason) {
    case RejectReason::kInvalidServiceId:
      return fmt::format("{} asked for port {}, where no {} program listens", peer, failure.local.port,
                         name_of(failure.service));
    case RejectReason::kStaleConnection:
      return fmt::format("{} asked with a queue pair that is still connected here: the old connection ends",
                         peer);
    case RejectReason::kInvalidGid:
      return fmt::format("the request of {} names other addresses than those that it came from and to", peer);
    case RejectReason::kInvalidMtu:
      return fmt::format("{} asked for a path MTU of {}, and our link has {} bytes", peer,
                         bytes(failure.path_mtu), report.link_mtu);
    case RejectReason::kNoResources:
      return fmt::format("{} asked, and there are too many connections already", peer);
    default:
      return fmt::format("{} asked for what we do not have", peer);
  }
}

std::string why_unanswered(const FailureReport& report) {
  const ConnectionFailure& failure = *report.connection;
  const char* const message =
      failure.service == rdma_cm::Service::kUd ? "SIDR_REQ" : (failure.is_passive ? "REP" : "REQ");
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(failure.waited).count();
  std::string text = fmt::format("no answer to {} {}{} in {} s from {}", failure.messages, message,
                                 failure.messages == 1 ? "" : "s", seconds, address_of(failure.peer));
  if (report.neighbor == NeighborState::kReachable) {
    text += fmt::format(", which is there (MAC {})", to_string(report.neighbor_mac));
  } else if (report.neighbor == NeighborState::kFailed) {
    text += fmt::format(", which answers {} neither",
                        failure.peer.address.is_ipv4_mapped() ? "ARP" : "neighbor discovery");
  }
  return text;
}

std::string why_service_refused(const ConnectionFailure& failure) {
  if (failure.status == SidrStatus::kUnsupported) {
    return fmt::format("{} has no listener for datagrams at port {}", address_of(failure.peer),
                       failure.peer.port);
  }
  if (failure.status == SidrStatus::kReject) {
    return fmt::format("the program at {} rejected it", to_string(failure.peer));
  }
  return fmt::format("{} gives this status and no reason", address_of(failure.peer));
}

Cause cause_of_status(SidrStatus status) {
  if (status == SidrStatus::kUnsupported) return Cause::kNoListener;
  return status == SidrStatus::kReject ? Cause::kRejectedByProgram : Cause::kOtherReject;
}

}  // namespace

FailureCause cause_of(const ConnectionFailure& failure) {
  switch (failure.kind) {
    case Kind::kRejected:
      return cause_of_reason(failure.reason, false);
    case Kind::kServiceRefused:
      return cause_of_status(failure.status);
    case Kind::kNoAnswer:
      return Cause::kNoAnswer;
    case Kind::kNoAddressOfFamily:
      return Cause::kNoAddressOfFamily;
    case Kind::kNoRoute:
      return Cause::kNoRoute;
    case Kind::kHostUnreachable:
      return failure.code == ECONNREFUSED ? Cause::kNoRoceAtHost : Cause::kHostUnreachable;
    case Kind::kAddressSilent:
      return Cause::kUnresolvedAddress;
    case Kind::kAddressTimeout:
      return Cause::kResolutionTimeout;
    case Kind::kRefused:
      return cause_of_reason(failure.reason, true);
    case Kind::kBacklogFull:
      return Cause::kBacklogFull;
  }
  return Cause::kOther;
}

std::string what_connection_failed(const ConnectionFailure& failure) {
  const std::string local = to_string(failure.local);
  const std::string peer = to_string(failure.peer);
  std::string connection = fmt::format("no connection from {} to {} ({})", failure.is_passive ? peer : local,
                                       failure.is_passive ? local : peer, name_of(failure.service));
  switch (failure.kind) {
    case Kind::kRejected:
      return fmt::format("{}: {}", connection, reject_text(failure.reason));
    case Kind::kServiceRefused:
      return fmt::format("{}: SIDR_REP with status {}", connection, transport::to_integer(failure.status));
    case Kind::kNoAnswer:
      return fmt::format("{}: no answer", connection);
    case Kind::kNoAddressOfFamily:
    case Kind::kNoRoute:
    case Kind::kAddressSilent:
    case Kind::kAddressTimeout:
      return fmt::format("the address {} is not resolved", peer);
    case Kind::kHostUnreachable:
      return fmt::format("{}: the host is not reached", connection);
    case Kind::kRefused:
      return failure.service == rdma_cm::Service::kUd
                 ? fmt::format("{}: we answered that there is no such service", connection)
                 : fmt::format("{}: we answered {}", connection, reject_text(failure.reason));
    case Kind::kBacklogFull:
      return fmt::format("{}: we did not take the request", connection);
  }
  return connection;
}

std::string why_no_connection(const FailureReport& report) {
  const ConnectionFailure& failure = *report.connection;
  const std::string peer = address_of(failure.peer);
  switch (failure.kind) {
    case Kind::kRejected:
      return why_rejected(failure);
    case Kind::kServiceRefused:
      return why_service_refused(failure);
    case Kind::kNoAnswer:
      return why_unanswered(report);
    case Kind::kNoAddressOfFamily:
      return fmt::format("the NIC, or what the id is bound to, has no {} address",
                         failure.peer.is_ipv4() ? "IPv4" : "IPv6");
    case Kind::kNoRoute:
      return fmt::format("this host has no way to {}: {}", peer,
                         std::generic_category().message(failure.code));
    case Kind::kHostUnreachable:
      return failure.code == ECONNREFUSED
                 ? fmt::format("{} answers that no program there has UDP port 4791", peer)
                 : fmt::format("the kernel, or a router on the way to {}, says: {}", peer,
                               std::generic_category().message(failure.code));
    case Kind::kAddressSilent:
      return fmt::format("no host answers for {}: no urnic on this wire has that address", peer);
    case Kind::kAddressTimeout:
      return fmt::format("no host answered for {} within the program's timeout", peer);
    case Kind::kRefused:
      return why_refused(report);
    case Kind::kBacklogFull:
      return fmt::format(
          "{} asked for port {}, where the program has not fetched the requests that came before", peer,
          failure.local.port);
  }
  return "";
}

}  // namespace urnic::nic
