// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/pcap/recorder_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "drivers/loopback/loopback_port.h"
#include "tests/support/pcap_file.h"
#include "tests/support/value_of.h"
#include "tests/unit/drivers/light/fake_port.h"
#include "tests/unit/drivers/light/temporary_folder.h"
#include "tools/simulation/kernel/clock.h"

namespace urnic::drivers::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class RecorderPortTest : public testing::Test {
 protected:
  RecorderPortTest() {
    auto port = RecorderPort::create(path_, std::make_unique<FakePort>(outside_),
                                     RecorderPort::Own{.mac = kOwnMac}, clock_);
    port_ = urnic::test::value_of(std::move(port));
  }
  std::vector<Bytes> recorded() {
    const auto captured = urnic::test::read_pcap(path_);
    EXPECT_TRUE(captured) << captured.error().message;
    std::vector<Bytes> frames;
    for (const auto& frame : captured.value()) frames.push_back(frame.bytes);
    return frames;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("capture.pcap");
  kernel::Clock clock_{77s};
  std::shared_ptr<FakePort::Outside> outside_ = std::make_shared<FakePort::Outside>();
  std::unique_ptr<RecorderPort> port_;
};

TEST_F(RecorderPortTest, RecordsWhatIsReceivedAndSentInOrderAndPassesItOn) {
  outside_->to_receive = {received_frame(1), received_frame(2, 300)};
  EXPECT_THAT(receive(*port_), ElementsAre(received_frame(1), received_frame(2, 300)));
  send(*port_, sent_frame(3, 100));
  outside_->to_receive = {received_frame(4)};
  receive(*port_);
  EXPECT_THAT(outside_->sent, ElementsAre(sent_frame(3, 100)));
  port_.reset();
  EXPECT_THAT(recorded(),
              ElementsAre(received_frame(1), received_frame(2, 300), sent_frame(3, 100), received_frame(4)));
}

TEST_F(RecorderPortTest, WantsWholeAndSingleFrames) {
  outside_->is_shared_memory = true;
  EXPECT_FALSE(port_->reserve_to(kOwnMac).empty());
  EXPECT_FALSE(port_->reserve_to(kOwnMac).may_lack_icrc());
  EXPECT_TRUE(port_->reserve_to(kOwnMac).run().empty());
}

TEST_F(RecorderPortTest, WritesWhatPeopleCallTheTimeWhereTimeIsReal) {
  const nic::SteadyClock clock;
  const auto before = std::chrono::system_clock::now().time_since_epoch();
  const std::string path = folder_.file("real.pcap");
  auto port = RecorderPort::create(path, std::make_unique<FakePort>(outside_),
                                   RecorderPort::Own{.mac = kOwnMac}, clock);
  send(*port.value(), sent_frame(1));
  port.value().reset();
  const auto frames = urnic::test::read_pcap(path).value();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_NEAR(static_cast<double>(frames[0].time_ns),
              static_cast<double>(std::chrono::nanoseconds(before).count()), 5e9);
}

TEST_F(RecorderPortTest, WritesTheWallTimeOfItsClock) {
  const auto before = clock_.wall_time();
  send(*port_, sent_frame(1));
  clock_.advance(1'000'000'007ns);
  send(*port_, sent_frame(2));
  port_.reset();
  const auto frames = urnic::test::read_pcap(path_).value();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].time_ns, before.count());
  EXPECT_EQ(frames[1].time_ns - frames[0].time_ns, 1'000'000'007);
}

TEST_F(RecorderPortTest, RecordsFramesToItselfOnce) {
  port_.reset();
  auto port = RecorderPort::create(path_, std::make_unique<LoopbackPort>(kOwnMac, nullptr, 1500),
                                   RecorderPort::Own{.mac = kOwnMac}, clock_);
  const Bytes frame = frame_between(kOwnMac, kOwnMac, 64, 1);
  send(*port.value(), frame);
  EXPECT_THAT(receive(*port.value()), ElementsAre(frame));
  port.value().reset();
  EXPECT_THAT(recorded(), ElementsAre(frame));
}

TEST_F(RecorderPortTest, WritesOutAtFlushAfterAHundredMillisecondsAndNotBefore) {
  send(*port_, sent_frame(1));
  clock_.advance(99ms);
  port_->flush();
  EXPECT_EQ(recorded().size(), 0u);
  clock_.advance(1ms);
  port_->flush();
  EXPECT_EQ(recorded().size(), 1u);
  send(*port_, sent_frame(2));
  port_->flush();
  EXPECT_EQ(recorded().size(), 1u);
  EXPECT_EQ(outside_->flushes, 3u);
}

TEST_F(RecorderPortTest, WritesOutBeforeTheEngineSleeps) {
  send(*port_, sent_frame(1));
  EXPECT_FALSE(port_->arm());
  EXPECT_TRUE(outside_->is_armed);
  EXPECT_EQ(recorded().size(), 1u);
}

TEST_F(RecorderPortTest, WritesOutWhenTheProcessEnds) {
  send(*port_, sent_frame(1));
  port_->write_out();
  EXPECT_EQ(recorded().size(), 1u);
  EXPECT_EQ(outside_->written_out, 1) << "the port below may remember something, too";
}

TEST_F(RecorderPortTest, DisturbsNoTrafficWhenItCannotBeCreated) {
  const auto port = RecorderPort::create(folder_.file("missing/x"), std::make_unique<FakePort>(outside_),
                                         RecorderPort::Own{.mac = kOwnMac}, clock_);
  ASSERT_FALSE(port);
  EXPECT_THAT(port.error().message, HasSubstr("cannot record to"));
}

TEST_F(RecorderPortTest, SpeaksForThePortBelow) {
  EXPECT_EQ(port_->description(), "fake, recorded to " + path_);
  EXPECT_EQ(port_->max_frame_bytes(), 2000u);
  EXPECT_EQ(port_->wake_fd(), outside_->wake_fd);
  EXPECT_EQ(port_->statistics().sent_frames, 3000u);
  outside_->is_drained = false;
  EXPECT_FALSE(port_->is_drained());
  outside_->station_without_turn = kPeerMac;
  EXPECT_TRUE(port_->is_awaiting_turn_of(kPeerMac));
  EXPECT_FALSE(port_->is_awaiting_turn_of(kOwnMac));
  outside_->poller_of_peer = 5;
  port_->note_poller(3);
  EXPECT_EQ(outside_->poller, 3u);
  EXPECT_TRUE(port_->has_poller_on(5));
  EXPECT_FALSE(port_->has_poller_on(3));
  outside_->room = 0;
  EXPECT_TRUE(port_->reserve().empty());
}

/// What `command` prints; nothing when it fails.
std::string output_of(const std::string& command) {
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  std::string output;
  char part[256];
  while (pipe != nullptr && fgets(part, sizeof part, pipe) != nullptr) output += part;
  return pipe != nullptr && pclose(pipe) == 0 ? output : "";
}

TEST_F(RecorderPortTest, WritesFilesThatWiresharkReads) {
  if (output_of("tshark --version").empty()) GTEST_SKIP() << "tshark is not installed";
  outside_->to_receive = {received_frame(1, 60)};
  receive(*port_);
  send(*port_, sent_frame(2, 2000));
  port_.reset();
  EXPECT_EQ(output_of("tshark -r '" + path_ + "' -T fields -e frame.len -e eth.src -e eth.dst"),
            "60\t02:00:00:00:00:02\t02:00:00:00:00:01\n2000\t02:00:00:00:00:01\t02:00:00:00:00:02\n");
  EXPECT_THAT(output_of("capinfos -Tmt '" + path_ + "'"), HasSubstr("nsecpcap"));
}

}  // namespace
}  // namespace urnic::drivers::test
