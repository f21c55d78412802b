// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: what `urnic doctor` reads from another doctor, and from files of the system.
//
// Nothing may crash or read out of bounds, and a message that is understood must be written as it was, except
// the bytes that every message leaves at zero.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "nic/host/udp_port_holders.h"
#include "tools/inspection/doctor/host_facts.h"
#include "tools/inspection/doctor/probe_message.h"
#include "transport/wire/udp.h"

namespace urnic::tools {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

void try_message(std::span<const std::byte> bytes) {
  const auto message = ProbeMessage::parse(bytes);
  if (!message) return;
  std::array<std::byte, ProbeMessage::kBytes> written;
  message->emit(written);
  require(ProbeMessage::parse(written) == message, "what was written parses to the same");
  require(std::equal(written.begin(), written.begin() + 9, bytes.begin()),
          "letters and kind are written as they were");
  require(std::equal(written.begin() + 12, written.end(), bytes.begin() + 12),
          "numbers are written as they were");
}

void try_files(const std::string& text) {
  available_memory_of(text);
  nic::udp_port_holders_of(text, transport::wire::kRocePort);
  packet_filter_of(text);
  cpu_flags_of(text);
  core_quota_of(text);
}

}  // namespace
}  // namespace urnic::tools

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::tools::try_message(std::as_bytes(std::span(data, size)));
  urnic::tools::try_files({reinterpret_cast<const char*>(data), size});
  return 0;
}
