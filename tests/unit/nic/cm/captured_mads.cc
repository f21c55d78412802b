// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/nic/cm/captured_mads.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "transport/wire/frame.h"
#include "transport/wire/packet.h"

namespace urnic::nic::cm {
namespace {

namespace fs = std::filesystem;
namespace wire = transport::wire;

constexpr transport::QpNumber kManagementQp{1};

std::array<fs::path, 3> folders() {
  return {urnic::test::fixtures(), test::shared_captures() / "rxe", test::shared_captures() / "public"};
}

}  // namespace

std::vector<CapturedMad> mads_in(const std::string& capture) {
  for (const fs::path& folder : folders()) {
    const fs::path path = folder / (capture + ".pcap");
    if (!fs::exists(path)) continue;
    const auto frames = urnic::test::read_pcap(path);
    EXPECT_TRUE(frames) << frames.error().message;
    std::vector<CapturedMad> mads;
    for (std::size_t i = 0; frames && i < frames.value().size(); ++i) {
      const auto frame = wire::parse_frame(frames.value()[i].bytes);
      if (!frame) continue;
      const auto packet = wire::parse_packet(frame.value().ib);
      if (!packet || packet.value().bth.destination_qp != kManagementQp) continue;
      const auto payload = packet.value().payload;
      mads.push_back({.frame = i + 1,
                      .source = frame.value().source_gid(),
                      .destination = frame.value().destination_gid(),
                      .source_mac = frame.value().ethernet.source,
                      .bytes = {payload.begin(), payload.end()}});
    }
    return mads;
  }
  return {};
}

std::vector<std::string> all_captures() {
  std::vector<std::string> names;
  for (const fs::path& folder : folders()) {
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".pcap") names.push_back(entry.path().stem());
    }
  }
  return names;
}

}  // namespace urnic::nic::cm
