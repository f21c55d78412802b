// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Go-back-N and selective repeat beside their closed forms.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/experiment/laboratory.h"

namespace urnic::experiment::test {
namespace {

using namespace std::chrono_literals;

constexpr double kRate = 10e9;
constexpr double kFrameUs = 1106 * 8 / 10e3;  // 1024 bytes of payload
constexpr double kPropagationUs = 50;

/// Share of the link that payload packets get, each of which is lost with probability p: (1 - p) / (1 + 2 a
/// p), where a is the propagation delay in packets (Stallings, "Data and Computer Communications", go-back-N
/// with windows that are large enough).
double of_go_back_n(double loss) {
  const double a = kPropagationUs / kFrameUs;
  return (1 - loss) / (1 + 2 * a * loss);
}

/// The same of selective repeat: each packet is sent until it arrives, and none twice (ibid.).
double of_selective_repeat(double loss) {
  return 1 - loss;
}

// What waits in the NIC's own queue when a NAK comes goes out before the repetition: it is short here.
double measured(double loss, std::string_view recovery) {
  const network::Topology topology = topology_of(
      R"({"hosts": [{"name": "a", "queue": "10KiB"}, "b"], "links": [{"ends": ["a", "b"], "rate": "10Gb/s", "delay": "50us"}]})");
  const Workload workload = workload_of(
      fmt::format(R"({{"path_mtu": 1024, "window": 512, "ack_timeout": 6, "until": "400ms", "recovery": "{}",
      "faults": {{"b": "drop:kind=write:direction=rx:times=all:p={}"}},
      "jobs": [{{"pattern": "flow", "from": "a", "to": "b", "bytes": "100GB", "message": "1MiB", "posted": 16}}]}})",
                  recovery, loss),
      topology);
  const Result result = run(topology, workload);
  EXPECT_TRUE(result.outcome.failure.empty()) << result.outcome.failure;
  return result.mean(Metric::kGoodput, "a->b", 20ms, 400ms) / (kRate * 1024 / 1106);
}

TEST(GoBackN, LosesWhatTheClosedFormSays) {
  for (const double loss : {0.0001, 0.001, 0.003, 0.01}) {
    EXPECT_NEAR(measured(loss, "go-back-n"), of_go_back_n(loss), 0.1 * of_go_back_n(loss)) << loss;
  }
}

// The closed form takes the window for endless. Here 256 packets may be unacknowledged, a good two round
// trips: a packet that is lost three times in a row holds up all others.
TEST(SelectiveRepeat, LosesWhatTheClosedFormSays) {
  for (const double loss : {0.0001, 0.001, 0.003, 0.01}) {
    EXPECT_NEAR(measured(loss, "selective-repeat"), of_selective_repeat(loss), 0.02) << loss;
  }
  EXPECT_NEAR(measured(0.05, "selective-repeat"), of_selective_repeat(0.05), 0.15);
}

}  // namespace
}  // namespace urnic::experiment::test
