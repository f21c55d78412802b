// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/mirror_scout.h"

#include <filesystem>
#include <system_error>

#include "tools/conformance/check/capture_reader.h"
#include "tools/conformance/check/packets/opcode.h"
#include "tools/conformance/check/unwrapping/doubles.h"
#include "tools/conformance/check/unwrapping/unwrapper.h"

namespace urnic::check {

bool has_doubled_frames(const std::string& path, const UdpPorts& ports) {
  constexpr std::uint64_t kLookedAt = 4096;
  std::string why;
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) return false;
  auto reader = CaptureReader::open(path, why);
  if (!reader) return false;
  Unwrapper unwrapper;
  Doubles doubles;
  for (std::uint64_t frames = 0; frames < kLookedAt; ++frames) {
    const auto raw = reader->next();
    if (!raw) break;
    const Unwrapped found = unwrapper.look(raw->link_type, raw->bytes, raw->time_ns);
    const bool has_packet =
        found.frame && found.frame->fault == FrameFault::kNone && found.frame->ib.size() >= kBthBytes;
    if (has_packet && is_roce(*found.frame, ports)) doubles.is_copy(*found.frame, raw->time_ns);
  }
  return doubles.are_usual();
}

}  // namespace urnic::check
