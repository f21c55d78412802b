// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/capture_input.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tools/command/console.h"

namespace urnic::tools {
namespace {

/// An option whose text `read` turns into `value`; `form` says what it takes.
template <typename Value, typename Read>
void add_reader(CLI::App& command, const char* name, Read read, Value& value, const char* form,
                const char* description) {
  command
      .add_option_function<std::string>(
          name,
          [=, &value](const std::string& text) {
            auto result = read(text);
            if (!result) throw CLI::ValidationError(name, fmt::format("'{}' is none; write {}", text, form));
            value = *std::move(result);
          },
          description)
      ->type_name(form);
}

}  // namespace

void add_choice(CLI::App& command, check::Choice& choice) {
  add_reader(command, "--qp", check::read_queue_pairs, choice.queue_pairs, "QPN[:QPN]",
             "Show only connections of this queue pair, as 0x11 or 17; A:B: only those between these two");
  add_reader(command, "--ip", check::read_addresses, choice.addresses, "ADDRESS[,ADDRESS]",
             "Show only connections of this address; A,B: only those between these two");
}

void add_udp_ports(CLI::App& command, check::UdpPorts& ports) {
  command
      .add_option("--udp-port", ports,
                  "RoCEv2 goes to this UDP port, too, as a mirror writes it; may be given several times")
      ->check(CLI::Range(1, 65535))
      ->allow_extra_args(false)
      ->type_name("N");
}

void complain_of_empty_choice(const std::string& file, const check::Choice& choice) {
  complain(fmt::format("{}: no connection has {}; 'urnic check {}' lists those that there are", file,
                       to_string(choice), file));
}

std::optional<RereadableCapture> RereadableCapture::open(const std::string& file, std::string& why) {
  RereadableCapture capture;
  if (file != "-") {
    capture.path_ = file;
    return capture;
  }
  capture.copy_.reset(std::tmpfile());
  if (capture.copy_ == nullptr) {
    why = fmt::format("cannot make a file for the standard input: {}", std::strerror(errno));
    return std::nullopt;
  }
  std::array<char, 1 << 16> block;
  while (const std::size_t bytes = std::fread(block.data(), 1, block.size(), stdin)) {
    if (std::fwrite(block.data(), 1, bytes, capture.copy_.get()) != bytes) break;
  }
  if (std::ferror(stdin) != 0 || std::fflush(capture.copy_.get()) != 0 ||
      std::ferror(capture.copy_.get()) != 0) {
    why = fmt::format("cannot keep the standard input: {}", std::strerror(errno));
    return std::nullopt;
  }
  capture.path_ = fmt::format("/proc/self/fd/{}", fileno(capture.copy_.get()));
  return capture;
}

}  // namespace urnic::tools
