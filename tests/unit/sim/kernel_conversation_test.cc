// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The wire observer against what Linux kernels sent to each other.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tools/simulation/seeds/checks/flow_observer.h"

namespace urnic::sim {
namespace {

/// Two Linux kernels talk and nothing is lost: an observer that complains about them is wrong.
class KernelConversation : public ::testing::TestWithParam<const char*> {};

TEST_P(KernelConversation, IsFreeOfComplaints) {
  const auto frames = urnic::test::read_pcap(urnic::test::fixtures() / GetParam());
  ASSERT_TRUE(frames) << frames.error().message;
  std::optional<FlowObserver> observer;
  for (const auto& frame : frames.value()) {
    const auto packet = read_frame(frame.bytes);
    ASSERT_TRUE(packet);
    const Time now{std::chrono::nanoseconds(frame.time_ns)};
    if (!observer) observer.emplace(FlowObserver::Limits{.mtu_bytes = 1024, .first_psn = packet->psn});
    if (packet->is_request() && packet->is_first) observer->on_posted({});
    FlowObserver::Complaint complaint;
    if (packet->is_request()) {
      complaint = observer->on_request_sent(*packet, now);
      observer->on_request_taken(*packet, now);
    } else {
      complaint = observer->on_response_sent(*packet, now);
      observer->on_response_taken(*packet, now);
    }
    EXPECT_FALSE(complaint) << to_string(*packet) << ": " << *complaint;
  }
}

INSTANTIATE_TEST_SUITE_P(Captures, KernelConversation,
                         ::testing::Values("vs_sizes.pcap", "vs_write_badkey.pcap", "vs_atomics.pcap",
                                           "vs_atomic_noperm.pcap", "vs_imm_inv.pcap"));

}  // namespace
}  // namespace urnic::sim
