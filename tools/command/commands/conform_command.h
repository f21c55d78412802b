// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic conform`: protocol scripts against a peer on the wire.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/command/command.h"
#include "tools/command/tester.h"
#include "tools/conformance/conform/results/verdict.h"
#include "transport/wire/address.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class ConformCommand {
 public:
  ConformCommand(CLI::App& app, Invocation& invocation);
  ConformCommand(const ConformCommand&) = delete;
  ConformCommand& operator=(const ConformCommand&) = delete;

 private:
  int run() const;
  /// Nothing, after a complaint, if there cannot be one.
  std::optional<Tester> open_tester(const transport::wire::Gid& peer) const;
  /// Writes what the user wants of them. `are_captures_temporary`: their files are gone afterwards.
  int report(std::vector<conform::CaseResult>& results, bool are_captures_temporary) const;

  std::string peer_;
  std::string port_ = "udp";
  std::string own_ip_;
  std::string mtu_;
  std::string agent_;
  std::string token_;
  unsigned agent_port_ = 7900;
  unsigned listener_port_ = 7901;
  std::string device_ = "-";
  unsigned device_port_ = 1;
  std::string gid_;
  std::vector<std::string> filters_;
  unsigned settle_ms_ = 10;
  std::string captures_;
  std::string html_;
  std::string junit_;
  std::string resume_;
  bool json_ = false;
  bool list_ = false;
  std::string agent_source_;  ///< "c", "python" or "listener"; empty if a peer is to be tested
};

}  // namespace urnic::tools
