// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Campaign: one case after the other against a peer, whatever happens to it meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tools/conformance/conform/agent/tcp_agent.h"
#include "tools/conformance/conform/results/verdict.h"
#include "tools/conformance/conform/stage/live_stage.h"
#include "tools/conformance/conform/wire/port_wire.h"

namespace urnic::conform {

class Campaign {
 public:
  struct Config {
    AgentAddress agent;
    Peer peer;
    std::string captures;  ///< the folder for packets of cases that fail; empty: they are not kept
  };
  Campaign(Config config, PortWire& wire) : config_(std::move(config)), wire_(wire) {}

  /// Never fails for what the peer does: then the case is unknown.
  CaseResult run(const Case& next);

 private:
  std::optional<AgentError> find_agent();
  CaseResult play(const Case& next, const scripts::Script& script);
  void keep_capture(CaseResult& result) const;

  Config config_;
  PortWire& wire_;
  std::unique_ptr<TcpAgent> agent_;
  std::optional<AgentError> gave_up_;  // on the agent
  unsigned failed_in_a_row_ = 0;
  std::uint32_t cases_ = 0;
};

}  // namespace urnic::conform
