// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: any file, where a pcapng file is expected, with frames of every link type, through the whole
// of `urnic check`. Nothing may crash or read out of bounds; frames come in the order of their times.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "tools/conformance/check/checker.h"
#include "tools/conformance/check/reading/erf.h"
#include "tools/conformance/check/reading/pcapng.h"
#include "tools/conformance/check/reading/time_order.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::check {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void check_file(std::FILE* file) {
  Pcapng reader(file);
  TimeOrder order;
  RawFrame frame;
  std::string why;
  std::uint64_t frames = 0;
  ReadResult result = ReadResult::kFrame;
  while (!order.is_full() && (result = reader.next(frame, why)) == ReadResult::kFrame) {
    require(frame.bytes.size() <= frame.wire_bytes, "no more is captured than there was");
    frame.number = ++frames;
    if (frame.link_type == LinkType::kErf) open_erf(frame);
    order.add(frame);
  }
  require((result == ReadResult::kDamage) == !why.empty(), "damage has a reason");
  Checker checker({});
  while (const auto next = order.take()) checker.add(next->link_type, *next);
  checker.finish();
  require(checker.counts().frames == frames, "no frame gets lost");
  require(checker.counts().late == 0, "frames come in order");
  require(!text_report("capture", checker, "", false).empty(), "there is a report");
}

}  // namespace
}  // namespace urnic::check

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string copy(reinterpret_cast<const char*>(data), size);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(fmemopen(copy.data(), size, "rb"), std::fclose);
  if (file) urnic::check::check_file(file.get());
  return 0;
}
