// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// TcpAgent: an agent at the end of a TCP connection.
#pragma once

#include <memory>
#include <string>

#include "drivers/descriptor.h"
#include "tools/conformance/conform/agent/agent.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::conform {

struct AgentAddress {
  transport::wire::Gid address;
  std::uint16_t port = 0;
  std::string token;
};

class TcpAgent final : public Agent {
 public:
  /// Connects, and says version and token. Waits for some seconds at most.
  static Result<std::unique_ptr<TcpAgent>, AgentError> connect(const AgentAddress& address);

  Result<AgentReply, AgentError> ask(const std::string& line) override;

 private:
  explicit TcpAgent(drivers::Descriptor socket) : socket_(std::move(socket)) {}

  drivers::Descriptor socket_;
  std::string unread_;
};

}  // namespace urnic::conform
