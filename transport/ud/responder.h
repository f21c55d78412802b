// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UdResponder: receives datagrams.
#pragma once

#include <cstddef>

#include "transport/dependencies.h"
#include "transport/open_receive.h"
#include "transport/qp_config.h"
#include "transport/wire/packet.h"

namespace urnic::transport {

/// In front of what was sent, a receive gets 40 bytes: the GRH area. An IPv6 header fills it; an IPv4 header
/// stands in its last 20 bytes, after zeros (fact 42).
inline constexpr std::size_t kGrhAreaBytes = 40;

/// A datagram is received whole or dropped without a word; why, the counters tell. PSNs mean nothing here.
class UdResponder {
 public:
  /// Any queue pair may send.
  static constexpr bool kHasPeer = false;

  UdResponder(const QpDependencies& deps, const QpConfig& config, OpenReceive& receive)
      : deps_(deps), config_(config), receive_(receive) {}

  void start() { has_failed_ = false; }
  void on_request(const wire::Packet& packet);

  /// A receive could not be written: the queue pair is to go to ERR.
  bool has_failed() const { return has_failed_; }
  /// None is expected.
  Psn expected_psn() const { return Psn(); }

 private:
  void drop_without_receive();
  bool write(const wire::Packet& packet);

  const QpDependencies& deps_;
  const QpConfig& config_;
  OpenReceive& receive_;
  bool has_failed_ = false;
};

}  // namespace urnic::transport
