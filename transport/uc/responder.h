// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UcResponder: checks and executes what the peer of an unreliable connection sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/counters.h"
#include "transport/dependencies.h"
#include "transport/open_receive.h"
#include "transport/qp_config.h"
#include "transport/types.h"
#include "transport/wire/packet.h"

namespace urnic::transport {

/// A message of which one packet is missing or wrong is dropped: what was written of it stays, nothing
/// completes, only the counters tell. The next packet that begins a message is executed, whatever its PSN.
class UcResponder {
 public:
  /// Its first packet establishes communication.
  static constexpr bool kHasPeer = true;

  UcResponder(const QpDependencies& deps, const QpConfig& config, OpenReceive& receive)
      : deps_(deps), config_(config), receive_(receive) {}

  /// Begins to expect config.receive_psn.
  void start();
  void on_request(const wire::Packet& packet);

  /// A receive could not be written: the queue pair is to go to ERR.
  bool has_failed() const { return has_failed_; }
  /// The PSN after the last packet that came.
  Psn expected_psn() const { return expected_psn_; }

 private:
  /// A message that was begun.
  struct Message {
    wire::Operation operation = wire::Operation::kNone;
    std::uint64_t address = 0;  // WRITE: where the next packet goes
    Rkey rkey{};
    std::uint32_t remaining = 0;  // WRITE: bytes to come
    std::uint32_t received = 0;   // bytes
  };

  bool is_message_open() const { return message_.operation != wire::Operation::kNone; }
  void begin_message(const wire::Packet& packet);
  void abandon_message();
  void drop(Counter reason);

  bool has_right_length(const wire::Packet& packet) const;
  std::optional<Counter> check_access(const wire::Packet& packet) const;

  void execute_send(const wire::Packet& packet);
  void execute_write(const wire::Packet& packet);
  void complete_write_with_immediate(const wire::Packet& packet);
  void complete_receive(const wire::Packet& packet, CompletionOpcode opcode);

  const QpDependencies& deps_;
  const QpConfig& config_;
  OpenReceive& receive_;
  Psn expected_psn_;
  Message message_;
  bool has_failed_ = false;
};

}  // namespace urnic::transport
