// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which captures a command reads, and what of them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "tools/conformance/check/choice.h"
#include "tools/conformance/check/port_hints.h"

namespace urnic::tools {

/// Adds --qp and --ip, which fill in `choice`.
void add_choice(CLI::App& command, check::Choice& choice);

/// Adds --udp-port, which fills in `ports`.
void add_udp_ports(CLI::App& command, check::UdpPorts& ports);

/// Says that no connection of a file has what the user chose.
void complain_of_empty_choice(const std::string& file, const check::Choice& choice);

/// A capture that can be read more than once. "-" is the standard input: it is copied into a file without a
/// name, which goes with this object.
class RereadableCapture {
 public:
  /// Nothing if the standard input cannot be copied; then `why` says so.
  static std::optional<RereadableCapture> open(const std::string& file, std::string& why);

  const std::string& path() const { return path_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  RereadableCapture() = default;

  std::string path_;
  std::unique_ptr<std::FILE, Closer> copy_;
};

}  // namespace urnic::tools
