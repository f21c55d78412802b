// Fuzz target: a capture from anybody, through the whole of `urnic check`.
//
// The input is a sequence of frames, each behind four bytes: its length and its time since the one before in
// units of 100 us, both 16 bits, little-endian. The top bit of the length says that the capture cut the
// frame; that of the time, that the frame keeps the ICRC it has. All others get a right one, lest every
// change ends there.
//
// Nothing may crash, read out of bounds or grow without bound, and the counts must add up.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tools/check/checker.h"
#include "tools/check/icrc.h"
#include "tools/check/report.h"

namespace urnic::check {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::int64_t kTimeUnitNs = 100'000;
constexpr std::uint16_t kTopBit = 0x8000;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

std::uint16_t load_little(const std::uint8_t* at) {
  return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

void set_right_icrc(std::vector<std::byte>& bytes) {
  const auto frame = parse_frame(LinkType::kEthernet, bytes);
  if (!frame) {
    return;
  }
  if (const auto icrc = judge_icrc(*frame)) {
    const auto at = static_cast<std::size_t>(frame->ib.data() + frame->ib.size() - bytes.data()) - kIcrcBytes;
    for (std::size_t i = 0; i < kIcrcBytes; ++i) {
      bytes[at + i] = static_cast<std::byte>(icrc->expected >> (8 * i));
    }
  }
}

void check_sums(const Checker& checker) {
  const FrameCounts& counts = checker.counts();
  require(counts.roce_v1 + counts.roce_v2 + counts.others == counts.frames, "every frame is of one kind");
  require(counts.icrc_right + counts.icrc_wrong + counts.icrc_unknown == counts.roce_v1 + counts.roce_v2,
          "every RoCE frame has one verdict");
  std::uint64_t packets = 0;
  for (const Flow& flow : checker.connections().flows()) {
    packets += flow.packets;
    require(!flow.peer || checker.connections().flows().at(*flow.peer).peer.has_value(),
            "peers know each other");
  }
  require(packets <= counts.frames, "no packet is in two flows");
  std::uint64_t findings = 0;
  for (const RuleInfo& info : all_rules()) {
    findings += checker.findings().count_of(info.rule);
  }
  std::uint64_t by_severity = 0;
  for (const Severity severity :
       {Severity::kViolation, Severity::kHabit, Severity::kUnknown, Severity::kEvent}) {
    by_severity += checker.findings().count_of(severity);
  }
  require(findings == by_severity, "every finding has one severity");
}

void check_reports(const Checker& checker) {
  require(!text_report("capture", checker, "", true).empty(), "there is a report");
  const auto object = nlohmann::json::parse(json_report("capture", checker, "").dump());
  require(object["violations"] == checker.findings().count_of(Severity::kViolation), "the reports agree");
}

}  // namespace
}  // namespace urnic::check

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace urnic::check;
  Checker checker(CheckOptions{.ladder_rows = 16});
  RawFrame raw;
  while (size >= kHeaderBytes) {
    const std::uint16_t length = load_little(data);
    const std::uint16_t time = load_little(data + 2);
    data += kHeaderBytes;
    size -= kHeaderBytes;
    const std::size_t taken = std::min<std::size_t>(length & ~kTopBit, size);
    const auto from = std::as_bytes(std::span(data, taken));
    // Memory of exactly the frame's size, so that a sanitizer sees a read of one byte too many.
    std::vector<std::byte> bytes(from.begin(), from.end());
    if ((time & kTopBit) == 0) {
      set_right_icrc(bytes);
    }
    raw.bytes = bytes;
    raw.wire_bytes = taken + ((length & kTopBit) != 0 ? 1500 : 0);
    raw.time_ns += (time & ~kTopBit) * kTimeUnitNs;
    ++raw.number;
    checker.add(LinkType::kEthernet, raw);
    data += taken;
    size -= taken;
  }
  checker.finish();
  check_sums(checker);
  check_reports(checker);
  return 0;
}
