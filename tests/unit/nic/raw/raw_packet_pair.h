// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RawPacketTest: a queue pair of raw packets at each end of the fake wire.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {

inline constexpr std::size_t kLinkMtu = 1500;
inline constexpr std::size_t kLongest = kLinkMtu + 14;
inline constexpr std::size_t kShortest = 60;
inline constexpr std::size_t kTo = 100000;  // where frames are received

/// One queue pair for raw packets at each end, in RTS, without rules.
class RawPacketTest : public testing::Test {
 protected:
  using Bytes = FakeWire::Bytes;
  using Completion = transport::Completion;
  using CompletionStatus = transport::CompletionStatus;
  using QpState = transport::QpState;

  RawPacketTest() {
    for (Host* host : {&pair.a(), &pair.b()}) start(add_queue_pair(*host));
    pair.settle();
  }
  ~RawPacketTest() override {
    for (const auto& [host, flow] : flows_) EXPECT_TRUE(host->device().destroy_flow(flow));
  }

  static QpCreateAttributes attributes(Host& host) {
    QpCreateAttributes result = host.default_attributes();
    result.type = QpType::kRawPacket;
    return result;
  }
  static QueuePair& add_queue_pair(Host& host) { return host.add_queue_pair(attributes(host)); }
  static void start(QueuePair& qp) {
    EXPECT_TRUE(qp.modify({.state = QpState::kInit, .port = std::uint8_t{1}}));
    EXPECT_TRUE(qp.modify({.state = QpState::kReadyToReceive}));
    EXPECT_TRUE(qp.modify({.state = QpState::kReadyToSend}));
  }
  FlowId add_flow(Host& host, const FlowRule& rule, std::size_t qp_index = 0) {
    const FlowId flow = host.device().create_flow(host.qp(qp_index), rule).value();
    flows_.emplace_back(&host, flow);
    return flow;
  }
  void remove_flow(Host& host, FlowId flow) {
    EXPECT_TRUE(host.device().destroy_flow(flow));
    std::erase(flows_, std::pair(&host, flow));
  }

  /// A frame from A's MAC to B's with the EtherType for experiments, written to A's memory from `at` on.
  Bytes write_frame(std::size_t length, std::size_t at = 0) {
    Bytes frame(std::max<std::size_t>(length, 14));
    for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::byte>(i * 7);
    constexpr std::array<unsigned, 14> kHeader{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
    for (std::size_t i = 0; i < kHeader.size(); ++i) frame[i] = static_cast<std::byte>(kHeader[i]);
    frame.resize(length);
    std::copy(frame.begin(), frame.end(), pair.a().memory().begin() + static_cast<std::ptrdiff_t>(at));
    return frame;
  }
  /// Those that A has sent.
  std::vector<Bytes> sent() const {
    std::vector<Bytes> frames = pair.wire.sent_by(0);
    std::erase_if(frames, [](const Bytes& frame) {
      return frame[12] != std::byte{0x88} || frame[13] != std::byte{0xb5};
    });
    return frames;
  }
  Bytes received(std::size_t length, std::size_t at = kTo) {
    const auto begin = pair.b().memory().begin() + static_cast<std::ptrdiff_t>(at);
    return {begin, begin + static_cast<std::ptrdiff_t>(length)};
  }
  CompletionStatus status_of_sending(std::size_t length) {
    write_frame(length);
    pair.a().post_send(1, 0, length);
    pair.settle();
    const std::vector<Completion> completions = pair.a().poll();
    EXPECT_EQ(completions.size(), 1u);
    return completions.at(0).status;
  }
  /// What the rule of a test is about.
  static FlowRule rule_for_experiments() {
    return {.ethernet = EthernetMatch{.ether_type = {.value = 0x88b5, .mask = 0xffff}}};
  }

  DevicePair pair{{.link_mtu = kLinkMtu}};

 private:
  std::vector<std::pair<Host*, FlowId>> flows_;
};

}  // namespace urnic::nic
