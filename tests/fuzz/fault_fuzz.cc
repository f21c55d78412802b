// Fuzz target: what `urnic run --fault` is told, and the frames that exact faults then look at and change.
//
// The input is a line of text, a specification, and behind it frames: two bytes with direction, link and length, then the frame. Nothing may crash or
// read out of bounds; a specification that is understood is written as one that means the same; a changed frame keeps its length, and its ICRC
// as right or wrong as the fault says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/fault/exact_faults.h"
#include "drivers/fault/fault_spec.h"
#include "drivers/fault/frame_repair.h"

namespace urnic::drivers {
namespace {

constexpr std::size_t kHead = 2;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

struct Faults {
  explicit Faults(const FaultSpec& spec)
      : on_ethernet(spec.exact, spec.seed, nic::Medium::kEthernet),
        on_ip(spec.exact, spec.seed, nic::Medium::kIp) {
    for (const ExactFault& fault : spec.exact)
      keeps_icrc_right &= fault.is_icrc_right || !changes_packet(fault);
  }
  static bool changes_packet(const ExactFault& fault) {
    return fault.action == ExactFault::Action::kCorrupt || fault.action == ExactFault::Action::kSet;
  }
  ExactFaults on_ethernet;
  ExactFaults on_ip;
  bool keeps_icrc_right = true;  // all of them
};

void try_frame(Faults& faults, Way way, nic::Medium medium, std::span<const std::byte> frame) {
  ExactFaults& exact = medium == nic::Medium::kEthernet ? faults.on_ethernet : faults.on_ip;
  const ExactFaults::Fate fate = exact.judge(way, frame);
  require(!fate.is_lost || (!fate.is_duplicated && fate.behind == 0 && fate.changes == 0),
          "nothing else happens to what is lost");
  require(fate.behind <= ExactFault::kMaxBehind, "what is held back fits the stash");
  if (fate.changes == 0) return;
  const auto before = read_frame(medium, frame);
  require(before.has_value(), "only packets are changed");
  std::vector<std::byte> changed(frame.begin(), frame.end());
  exact.change(fate, changed);
  const auto after = read_frame(medium, changed);
  require(after.has_value(), "a changed packet has right checksums");
  require(!faults.keeps_icrc_right || after->icrc_ok() == before->icrc_ok(),
          "the ICRC is as right as it was");
}

void try_input(std::span<const std::byte> data) {
  const auto end = std::find(data.begin(), data.end(), std::byte{'\n'});
  std::string text;
  std::transform(data.begin(), end, std::back_inserter(text),
                 [](std::byte letter) { return static_cast<char>(letter); });
  const auto spec = FaultSpec::parse(text);
  if (!spec) {
    require(!spec.error().message.empty(), "a refusal says why");
    return;
  }
  const auto again = FaultSpec::parse(spec.value().to_string());
  require(again && again.value().to_string() == spec.value().to_string(), "what is written means the same");

  Faults faults(spec.value());
  data = data.subspan(std::min(data.size(), static_cast<std::size_t>(end - data.begin()) + 1));
  while (data.size() >= kHead) {
    const auto head = std::to_integer<unsigned>(data[0]) << 8 | std::to_integer<unsigned>(data[1]);
    const std::size_t length = std::min<std::size_t>(head & 0x3fff, data.size() - kHead);
    try_frame(faults, (head & 0x8000) != 0 ? Way::kReceived : Way::kSent,
              (head & 0x4000) != 0 ? nic::Medium::kIp : nic::Medium::kEthernet, data.subspan(kHead, length));
    data = data.subspan(kHead + length);
  }
  for (const ExactFaults* const each : {&faults.on_ethernet, &faults.on_ip}) {
    for (const std::string& line : each->report()) require(!line.empty(), "every fault is reported");
  }
}

}  // namespace
}  // namespace urnic::drivers

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::drivers::try_input(std::as_bytes(std::span(data, size)));
  return 0;
}
