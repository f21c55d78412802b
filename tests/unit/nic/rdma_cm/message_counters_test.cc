// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a device counts of the connection manager's messages.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>

#include "nic/cm/timing.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;

class MessageCounters : public CmTest {};

TEST_F(MessageCounters, TellTheKindsApart) {
  passive.listen();
  connected();
  EXPECT_EQ(pair.a().counter("cm_tx_msgs_req"), 1u);
  EXPECT_EQ(pair.a().counter("cm_rx_msgs_rep"), 1u);
  EXPECT_EQ(pair.a().counter("cm_tx_msgs_rtu"), 1u);
  EXPECT_EQ(pair.a().counter("cm_tx_msgs_rep"), 0u);
  EXPECT_EQ(pair.b().counter("cm_rx_msgs_req"), 1u);
  EXPECT_EQ(pair.b().counter("cm_tx_msgs_rep"), 1u);
  EXPECT_EQ(pair.b().counter("cm_rx_msgs_rtu"), 1u);
  EXPECT_EQ(pair.b().counter("cm_tx_retries_rep"), 0u);
  EXPECT_EQ(pair.b().counter("cm_rx_duplicates_req"), 0u);
}

TEST_F(MessageCounters, TellWhatWasRepeatedAndWhatCameAgain) {
  passive.listen();
  const IdNumber id = routed();
  ASSERT_EQ(connect(id), 0);
  pair.pass(10s);  // the program does not answer
  EXPECT_EQ(pair.a().counter("cm_tx_msgs_req"), 2u);
  EXPECT_EQ(pair.a().counter("cm_tx_retries_req"), 1u);
  EXPECT_EQ(pair.a().counter("cm_rx_msgs_mra"), 1u);
  EXPECT_EQ(pair.b().counter("cm_rx_msgs_req"), 2u);
  EXPECT_EQ(pair.b().counter("cm_rx_duplicates_req"), 1u);
  EXPECT_EQ(pair.b().counter("cm_tx_msgs_mra"), 1u);
}

TEST_F(MessageCounters, TellWhatMeansNothing) {
  cm::CommunicationManager& messages = passive.cm().messages();
  const cm::Arrival from{.source = pair.a().gid(), .destination = pair.b().gid()};
  messages.on_mad(std::array<std::byte, cm::kMadBytes>{}, from, passive.now());
  EXPECT_EQ(pair.b().counter("cm_rx_malformed"), 1u);
  messages.on_mad(cm::write({.message = cm::Rtu{.remote_id = cm::CommunicationId{1}}}), from, passive.now());
  EXPECT_EQ(pair.b().counter("cm_rx_msgs_rtu"), 1u);
  EXPECT_EQ(pair.b().counter("cm_rx_unexpected"), 1u);
  EXPECT_EQ(pair.b().counter("cm_rx_malformed"), 1u);
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
