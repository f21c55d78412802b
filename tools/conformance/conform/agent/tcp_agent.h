// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// TcpAgent: an agent, or a listener, at the end of a TCP connection.
#pragma once

#include <memory>
#include <string>

#include "drivers/descriptor.h"
#include "tools/conformance/conform/agent/agent.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::conform {

/// What programs on the peer's machine call themselves.
struct AgentKind {
  const char* greeting;  ///< the first word that is said
  const char* name;      ///< for people
  int version;           ///< of the lines that this tester says and understands
};
inline constexpr AgentKind kAgent{"urnic-conform", "agent", kAgentVersion};
inline constexpr AgentKind kListener{"urnic-listener", "listener", 1};

struct AgentAddress {
  transport::wire::Gid address;
  std::uint16_t port = 0;
  std::string token;
};

class TcpAgent final : public Agent {
 public:
  /// Connects, and says version and token. Waits for some seconds at most.
  static Result<std::unique_ptr<TcpAgent>, AgentError> connect(const AgentAddress& address,
                                                               const AgentKind& kind);

  Result<AgentReply, AgentError> ask(const std::string& line) override;

 private:
  TcpAgent(drivers::Descriptor socket, const char* name) : name_(name), socket_(std::move(socket)) {}
  AgentError vanished(const std::string& how) const;

  const char* const name_;
  drivers::Descriptor socket_;
  std::string unread_;
};

}  // namespace urnic::conform
