// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Runs of packets between two devices: they stand for frames that a wire would carry, and change nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nic/port/run_frames.h"
#include "tests/unit/nic/device_pair.h"
#include "tests/unit/nic/raw/raw_packet_pair.h"
#include "transport/wire/frame.h"
#include "transport/wire/packet.h"

namespace urnic::nic {
namespace {

using transport::PathMtu;
using transport::SendOperation;
using transport::wire::Ipv4;
using transport::wire::Opcode;
using Bytes = FakeWire::Bytes;

constexpr std::size_t kBytesOfIcrc = 4;
constexpr std::uint16_t kRunBytes = 8 * 1024 + 128;

transport::SendRequest remote(const Host& peer, SendOperation operation, std::uint64_t wr_id) {
  return {.wr_id = wr_id,
          .operation = operation,
          .signaled = true,
          .remote_address = reinterpret_cast<std::uint64_t>(const_cast<Host&>(peer).memory().data()),
          .rkey = transport::Rkey{peer.region().key}};
}

void fill(Host& host, unsigned seed) {
  for (std::size_t i = 0; i < host.memory().size(); ++i) {
    host.memory()[i] = static_cast<std::byte>(i * 7 + (i >> 9) + seed);
  }
}

/// Without its ICRC, which a link leaves out, and its RETH's address, which is where the process has memory.
void keep_what_is_alike(Bytes& frame) {
  const auto parsed = transport::wire::parse_frame(frame);
  if (!parsed) return;
  const auto ib_at = static_cast<std::size_t>(parsed.value().ib.data() - frame.data());
  const auto& opcode = transport::wire::info(Opcode{std::to_integer<std::uint8_t>(frame[ib_at])});
  if (has(opcode.headers, transport::wire::Headers::kReth)) {
    const auto reth_at = static_cast<std::ptrdiff_t>(ib_at + transport::wire::Bth::kBytes);
    std::fill_n(frame.begin() + reth_at, sizeof(std::uint64_t), std::byte{0});
  }
  frame.resize(frame.size() - kBytesOfIcrc);
}

/// Frames as a wire carries them.
std::vector<Bytes> on_wire(const std::vector<Bytes>& frames, PathMtu mtu) {
  std::vector<Bytes> cut;
  for (const Bytes& frame : frames) {
    const RunFrames run(frame, mtu);
    if (run.count() > 1) {
      for (std::uint32_t i = 0; i < run.count(); ++i) run.write(i, cut.emplace_back());
    } else {
      cut.push_back(frame);
    }
  }
  for (Bytes& frame : cut) keep_what_is_alike(frame);
  return cut;
}

/// How many of these frames ask for an acknowledgement.
auto ack_requests(const std::vector<Bytes>& frames) {
  return std::ranges::count_if(frames, [](const Bytes& frame) {
    const auto parsed = transport::wire::parse_frame(frame);
    return parsed && transport::wire::parse_packet(parsed.value().ib).value().bth.ack_request;
  });
}

/// Two pairs that do the same, one with runs.
class RunsTest : public testing::Test {
 protected:
  void both(const std::function<void(DevicePair&)>& action) {
    for (DevicePair* const each : {&runs, &wire}) action(*each);
  }
  void connect() {
    runs.wire.is_shared_memory = true;
    runs.wire.run_bytes = kRunBytes;
    both([this](DevicePair& pair) {
      pair.connect(
          {.path_mtu = mtu, .send_psn = transport::Psn(0xffffff), .receive_psn = transport::Psn(0xffffff)});
      pair.settle();
      fill(pair.a(), 1);
      fill(pair.b(), 5);
    });
  }
  void expect_the_same() {
    for (const std::size_t end : {0u, 1u}) {
      EXPECT_EQ(on_wire(runs.wire.sent_by(end), mtu), on_wire(wire.wire.sent_by(end), mtu)) << "from " << end;
      Host& with_runs = *runs.hosts[end];
      Host& with_frames = *wire.hosts[end];
      EXPECT_EQ(with_runs.memory(), with_frames.memory());
      EXPECT_EQ(with_runs.poll_text(), with_frames.poll_text());
      EXPECT_EQ(with_runs.events(), with_frames.events());
      const auto all_of_frames = with_frames.device().all_counters();
      const auto all_of_runs = with_runs.device().all_counters();
      for (std::size_t i = 0; i < all_of_runs.size(); ++i) {
        if (all_of_runs[i].first.ends_with("_bytes") && all_of_runs[i].first.starts_with("port_")) continue;
        EXPECT_EQ(all_of_runs[i].second, all_of_frames[i].second) << all_of_runs[i].first;
      }
    }
  }
  std::size_t frames_of_runs() const { return runs.wire.sent_by(0).size() + runs.wire.sent_by(1).size(); }
  std::size_t frames_of_wire() const { return wire.wire.sent_by(0).size() + wire.wire.sent_by(1).size(); }

  PathMtu mtu = PathMtu::k1024;
  DevicePair runs;
  DevicePair wire;
};

TEST_F(RunsTest, AreWhatAWireCarries) {
  connect();
  for (const std::size_t length : {1u, 1024u, 1025u, 4096u, 10001u, 32768u}) {
    both([length](DevicePair& pair) {
      pair.b().post_receive(1, 200'000, length);
      pair.a().post_send(2, 300'000, length);
      pair.a().post(remote(pair.b(), SendOperation::kWrite, 3), 400'000, length);
      pair.a().post(remote(pair.b(), SendOperation::kRead, 4), 500'000, length);
      pair.pass(std::chrono::milliseconds(1));
    });
    expect_the_same();
  }
  EXPECT_LT(frames_of_runs() * 3, frames_of_wire());
}

TEST_F(RunsTest, OfALongMessageAskForAcknowledgementsLessOften) {
  connect();
  both([](DevicePair& pair) {
    pair.a().post(remote(pair.b(), SendOperation::kWrite, 1), 300'000, 65536);
    pair.pass(std::chrono::milliseconds(1));
  });
  EXPECT_EQ(runs.b().memory(), wire.b().memory());
  EXPECT_EQ(runs.a().poll_text(), wire.a().poll_text());
  EXPECT_EQ(ack_requests(runs.wire.sent_by(0)), 1) << "half of the window is the whole message";
  EXPECT_EQ(ack_requests(wire.wire.sent_by(0)), 2);
}

class RunsOfMtuTest : public RunsTest, public testing::WithParamInterface<PathMtu> {};

INSTANTIATE_TEST_SUITE_P(, RunsOfMtuTest, testing::Values(PathMtu::k256, PathMtu::k1024, PathMtu::k4096),
                         [](const auto& each) { return std::to_string(bytes(each.param)); });

TEST_P(RunsOfMtuTest, GoBothWaysAtOnce) {
  mtu = GetParam();
  connect();
  both([](DevicePair& pair) {
    for (const std::uint64_t wr_id : {1u, 2u, 3u}) {
      pair.a().post(remote(pair.b(), SendOperation::kWrite, wr_id), 400'000, 30'000);
      pair.b().post(remote(pair.a(), SendOperation::kWrite, wr_id), 500'000, 20'000);
    }
    pair.pass(std::chrono::milliseconds(1));
  });
  EXPECT_EQ(runs.a().memory(), wire.a().memory());
  EXPECT_EQ(runs.b().memory(), wire.b().memory());
  EXPECT_EQ(runs.a().poll_text(), "1 ok, 2 ok, 3 ok");
  EXPECT_EQ(runs.b().poll_text(), "1 ok, 2 ok, 3 ok");
  EXPECT_LT(frames_of_runs(), frames_of_wire());
}

TEST_F(RunsTest, ThatGetLostAreSentAgain) {
  connect();
  std::size_t left = 3;
  runs.wire.is_lost = [&left](std::size_t from, const Bytes& frame) {
    return from == 0 && frame.size() > 2000 && left > 0 && --left == 1;
  };
  runs.a().post(remote(runs.b(), SendOperation::kWrite, 1), 400'000, 60'000);
  runs.pass(std::chrono::seconds(1));
  EXPECT_EQ(runs.a().poll_text(), "1 ok");
  EXPECT_TRUE(std::equal(runs.b().memory().begin(), runs.b().memory().begin() + 60'000,
                         runs.a().memory().begin() + 400'000));
}

TEST_F(RunsTest, AreNotSentWhereFailuresAreExplained) {
  DevicePair explaining({.explain = true});
  explaining.wire.is_shared_memory = true;
  explaining.wire.run_bytes = kRunBytes;
  explaining.connect();
  explaining.settle();
  explaining.a().post(remote(explaining.b(), SendOperation::kWrite, 1), 0, 10'000);
  explaining.settle();
  EXPECT_EQ(explaining.a().poll_text(), "1 ok");
  for (const Bytes& frame : explaining.wire.sent_by(0)) EXPECT_LT(frame.size(), 1200u);
}

TEST_F(RunsTest, AreNotSentOverALinkThatIsTooShortForTheirPackets) {
  DevicePair tight({.link_mtu = 1024 + 80});
  tight.wire.is_shared_memory = true;
  tight.wire.run_bytes = kRunBytes;
  tight.connect();
  tight.settle();
  tight.a().post(remote(tight.b(), SendOperation::kWrite, 1), 0, 10'000);
  tight.settle();
  EXPECT_EQ(tight.a().poll_text(), "1 ok");
  for (const Bytes& frame : tight.wire.sent_by(0)) EXPECT_LT(frame.size(), 1200u);
}

// --- What a peer can do with them ---

/// A run that A would send to B, which a test changes before B gets it.
class LyingRunsTest : public RunsTest {
 protected:
  LyingRunsTest() {
    connect();
    runs.wire.is_lost = [](std::size_t from, const Bytes&) { return from == 0; };
    runs.a().post(remote(runs.b(), SendOperation::kWrite, 1), 400'000, 5000);
    runs.settle();
    good = runs.wire.sent_by(0).back();
  }
  void deliver(const Bytes& frame, PathMtu as = PathMtu::k1024, std::uint8_t packets = 5) {
    runs.wire.deliver_run(1, frame, {.mtu = as, .packets = packets});
    runs.settle();
  }
  Bytes with_opcode(Opcode opcode) const {
    Bytes changed = good;
    changed[14 + 20 + 8] = std::byte{transport::to_integer(opcode)};
    return changed;
  }
  bool was_written() {
    return std::equal(runs.b().memory().begin(), runs.b().memory().begin() + 5000,
                      runs.a().memory().begin() + 400'000);
  }

  Bytes good;
};

TEST_F(LyingRunsTest, ArriveIfTheyAreGood) {
  deliver(good);
  EXPECT_TRUE(was_written());
}

TEST_F(LyingRunsTest, MayHaveAnyNumberOfPackets) {
  deliver(good, PathMtu::k1024, 0);
  EXPECT_TRUE(was_written()) << "it is for counters of the port only";
}

TEST_F(LyingRunsTest, OfAnotherMtuAreRefusedAsTheirPacketsAre) {
  deliver(good, PathMtu::k256);
  EXPECT_FALSE(was_written());
  EXPECT_EQ(runs.b().counter("resp_invalid_request"), 1u);
}

TEST_F(LyingRunsTest, OfWhatIsInNoRunAreDropped) {
  for (const Opcode opcode : {Opcode::kUdSendOnly, Opcode::kRcAtomicWrite, Opcode::kSelectiveNak}) {
    const std::uint64_t dropped = runs.b().counter("rx_drop_unexpected_payload");
    deliver(with_opcode(opcode));
    EXPECT_EQ(runs.b().counter("rx_drop_unexpected_payload"), dropped + 1)
        << unsigned{transport::to_integer(opcode)};
  }
  EXPECT_FALSE(was_written());
}

TEST_F(LyingRunsTest, OfAnotherServiceAreDroppedPacketByPacket) {
  deliver(with_opcode(with_service(Opcode::kRcWriteOnly, transport::wire::Service::kUc)));
  EXPECT_EQ(runs.b().counter("rx_drop_wrong_service"), 5u);
}

TEST_F(LyingRunsTest, ForNoQueuePairAreDroppedPacketByPacket) {
  Bytes changed = good;
  changed[14 + 20 + 8 + 5] ^= std::byte{1};
  deliver(changed);
  EXPECT_EQ(runs.b().counter("rx_drop_unknown_qp"), 5u);
}

TEST_F(LyingRunsTest, WithTheMarkOfCongestionAreTakenPacketByPacket) {
  auto frame = transport::wire::parse_frame(good).value();
  std::get<Ipv4>(frame.ip).tos = 3;
  Bytes marked(good.size());
  ASSERT_EQ(emit_frame(frame, marked), good.size());
  deliver(marked);
  EXPECT_TRUE(was_written());
  EXPECT_EQ(runs.b().counter("np_ecn_marked_roce_packets"), 5u);
}

TEST_F(LyingRunsTest, ThatAreCutOffAreDropped) {
  for (std::size_t length = 14; length + 1 < good.size(); length += 97) {
    deliver(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)));
  }
  EXPECT_FALSE(was_written());
}

// --- Who looks at frames ---

class SniffedRunsTest : public RawPacketTest {};

TEST_F(SniffedRunsTest, AreSeenAsFrames) {
  pair.wire.is_shared_memory = true;
  pair.wire.run_bytes = kRunBytes;
  const std::size_t connection = pair.connect();
  pair.settle();
  add_flow(pair.b(), {.kind = FlowKind::kSniffer});
  for (const std::size_t i : {0u, 1u, 2u}) pair.b().post_receive(i, kTo + i * 2000, kLongest);
  fill(pair.a(), 1);
  const std::size_t sent_before = pair.wire.sent_by(0).size();
  auto request = remote(pair.b(), SendOperation::kWrite, 9);
  pair.a().post(request, 300'000, 3000, connection);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "9 ok");
  EXPECT_TRUE(std::equal(pair.b().memory().begin(), pair.b().memory().begin() + 3000,
                         pair.a().memory().begin() + 300'000));
  ASSERT_GT(pair.wire.sent_by(0).size(), sent_before);
  const Bytes& sent = pair.wire.sent_by(0)[sent_before];
  ASSERT_GT(sent.size(), 3000u) << "one run";
  const auto completions = pair.b().poll();
  ASSERT_EQ(completions.size(), 3u);
  const RunFrames frames(sent, PathMtu::k1024);
  for (std::size_t i = 0; i < 3; ++i) {
    Bytes expected;
    frames.write(static_cast<std::uint32_t>(i), expected);
    const std::byte* const at = pair.b().memory().data() + kTo + i * 2000;
    const Bytes seen(at, at + completions[i].byte_length);
    EXPECT_EQ(seen, expected);
    EXPECT_TRUE(transport::wire::parse_frame(seen).value().icrc_ok());
  }
}

}  // namespace
}  // namespace urnic::nic
