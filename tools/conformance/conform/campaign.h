// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Campaign: one case after the other against a peer, whatever happens to it meanwhile.
#pragma once

#include <cstdint>
#include <string>

#include "tools/conformance/conform/agent/agent_finder.h"
#include "tools/conformance/conform/connections/connection_stage.h"
#include "tools/conformance/conform/results/verdict.h"
#include "tools/conformance/conform/stage/live_stage.h"
#include "tools/conformance/conform/wire/port_wire.h"

namespace urnic::conform {

class Campaign {
 public:
  struct Config {
    AgentAddress agent;
    AgentAddress listener;         ///< for scripts about connections
    transport::wire::Gid address;  ///< of the NIC under test
    Peer peer;
    std::string captures;  ///< the folder for packets of cases that fail; empty: they are not kept
  };
  Campaign(Config config, PortWire& wire);

  /// Never fails for what the peer does: then the case is unknown.
  CaseResult run(const Case& next);

 private:
  CaseResult play(const Case& next, const scripts::Script& script);
  CaseResult play_connection(const Case& next, const scripts::Script& script);
  void keep_capture(CaseResult& result) const;

  Config config_;
  PortWire& wire_;
  AgentFinder agent_;
  AgentFinder listener_;
  std::uint32_t cases_ = 0;
  unsigned next_connection_;  // the number of the next case; another run begins with another one
};

}  // namespace urnic::conform
