// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Two endpoints that are told the same, one of them in runs: what they do, say and remember is the same,
// whatever comes and however it is cut into runs.
#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/qp_fixture.h"
#include "transport/wire/run.h"

namespace urnic::transport::test {
namespace {

constexpr std::uint32_t kMostBytes = 12 * 256;
constexpr std::uint32_t kRunRoom = 9;

/// A QpTest that is not the test.
class Twin : public RcTest {
 public:
  using RcTest::arrives;
  using RcTest::config_;
  using RcTest::connect;
  using RcTest::counters_;
  using RcTest::dma_;
  using RcTest::endpoint_;
  using RcTest::events_;
  using RcTest::link_takes_runs_;
  using RcTest::local_memory;
  using RcTest::now_;
  using RcTest::poll_bytes;
  using RcTest::post_quietly;
  using RcTest::post_receives;
  using RcTest::receive_completions;
  using RcTest::receive_memory;
  using RcTest::receive_queue_;
  using RcTest::send_completions;
  using RcTest::send_queue_;
  using RcTest::shared_memory;
  static constexpr QpNumber kOurs = kOurQp;

  void TestBody() override {}
};

/// What has left is not the same any more when one direction has ended the queue pair: see leave().
bool is_of_what_left(Counter counter) {
  return counter == Counter::kSentSendRequests || counter == Counter::kSentWriteRequests ||
         counter == Counter::kSentReadRequests || counter == Counter::kSentAtomicRequests;
}

/// All that can be seen of an endpoint.
std::string text_of(Twin& each) {
  std::string text = "expects " + std::to_string(each.endpoint_.next_receive_psn().value()) + ", MSN " +
                     std::to_string(each.endpoint_.msn()) + ", may acknowledge " +
                     std::to_string(each.endpoint_.acknowledgeable_psn().value()) + ", state " +
                     std::to_string(static_cast<int>(each.endpoint_.state())) + ", timeout " +
                     std::to_string(each.endpoint_.next_timeout().time_since_epoch().count());
  if (each.endpoint_.state() != QpState::kError) {
    text += ", sends " + std::to_string(each.endpoint_.next_send_psn().value());
  }
  const SendProgress progress = each.endpoint_.send_progress();
  text += ", oldest " + std::to_string(progress.oldest.value()) + ", in flight " +
          std::to_string(progress.packets_in_flight) + " and " + std::to_string(progress.reads_in_flight) +
          ", retries " + std::to_string(progress.retries);
  for (std::size_t i = 0; i < count_of<Counter>(); ++i) {
    const auto counter = static_cast<Counter>(i);
    if (each.endpoint_.state() == QpState::kError && is_of_what_left(counter)) continue;
    if (each.counters_.value(counter) != 0) {
      text += ", " + std::string(name_of(counter)) + " " + std::to_string(each.counters_.value(counter));
    }
  }
  for (const auto& completions : {each.send_completions(), each.receive_completions()}) {
    for (const Completion& completion : completions) {
      text += ", completed " + std::to_string(completion.wr_id) + " with status " +
              std::to_string(static_cast<int>(completion.status)) + ", " +
              std::to_string(completion.byte_length) + " bytes, immediate " +
              std::to_string(completion.immediate) + (completion.solicited ? ", solicited" : "");
    }
  }
  for (const QpEvent event : each.events_.take())
    text += ", event " + std::to_string(static_cast<int>(event));
  return text + ", losses " + std::to_string(each.events_.losses());
}

class RcRunTwins : public testing::TestWithParam<Recovery> {
 protected:
  /// Everything that happens is drawn from `seed`.
  void play(std::uint32_t seed);

  std::size_t runs_taken_ = 0;
  std::size_t runs_refused_ = 0;
  std::size_t runs_sent_ = 0;

 private:
  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  bool happens(std::uint32_t percent) { return draw(100) < percent; }
  Bytes drawn_payload(std::uint32_t size) { return payload(size, static_cast<std::uint8_t>(draw(100))); }

  void begin();
  void post();
  void next_message();
  void come();
  void give(const std::vector<QpPacket>& run);
  void answer();
  void leave();
  void compare();
  void compare_memory();

  std::mt19937 random_;
  std::unique_ptr<Twin> in_runs_;
  std::unique_ptr<Twin> single_;
  std::vector<QpPacket> from_peer_;  // requests, in order
  std::size_t next_ = 0;             // the one to come
  Psn next_psn_;                     // of from_peer_
  std::vector<QpPacket> requests_;   // that left, of either
  std::uint64_t next_wr_id_ = 1;
};

INSTANTIATE_TEST_SUITE_P(, RcRunTwins, testing::Values(Recovery::kGoBackN, Recovery::kSelectiveRepeat),
                         [](const auto& recovery) {
                           return recovery.param == Recovery::kGoBackN ? "GoBackN" : "SelectiveRepeat";
                         });

void RcRunTwins::begin() {
  in_runs_ = std::make_unique<Twin>();
  single_ = std::make_unique<Twin>();
  single_->link_takes_runs_ = true;
  const Psn receive_psn(0xffffff - draw(40));
  const Psn send_psn(0xffffff - draw(40));
  const std::uint32_t window = 1 + draw(40);
  const std::uint8_t reads = static_cast<std::uint8_t>(1 + draw(4));
  for (Twin* const each : {in_runs_.get(), single_.get()}) {
    each->config_.path_mtu = PathMtu::k256;
    each->config_.receive_psn = receive_psn;
    each->config_.send_psn = send_psn;
    each->config_.window_packets = window;
    each->config_.max_reads_in_flight = reads;
    each->config_.retry_count = 7;
    each->config_.rnr_retry = 7;
    each->config_.ack_timeout = 14;
    each->config_.recovery = GetParam();
    each->connect();
  }
  from_peer_.clear();
  requests_.clear();
  next_ = 0;
  next_psn_ = receive_psn;
}

/// The program.
void RcRunTwins::post() {
  const std::uint32_t length = draw(kMostBytes);
  const std::uint64_t wr_id = next_wr_id_++;
  SendWr wr = happens(40)   ? write_wr(wr_id, length)
              : happens(50) ? send_wr(wr_id, length)
                            : read_wr(wr_id, length);
  if (!is_send(wr.request.operation) && happens(3)) wr.sges = {local(length, 0xfff0)};  // beyond the region
  const bool is_read = wr.request.operation == SendOperation::kRead;
  if (!is_read && happens(20)) wr = wr.with_immediate(draw(1000));
  if (happens(10)) wr = wr.fenced();
  const bool has_room = !single_->send_queue_.is_full();
  const bool posts_receive = happens(60);
  const std::uint32_t receive_bytes = happens(90) ? kMostBytes : draw(kMostBytes);
  for (Twin* const each : {in_runs_.get(), single_.get()}) {
    if (has_room) each->post_quietly(wr);
    if (posts_receive && !each->receive_queue_.is_full()) each->post_receives({wr_id}, receive_bytes);
  }
}

/// One more message of the peer's, right in most cases.
void RcRunTwins::next_message() {
  const std::uint32_t length = draw(kMostBytes);
  const Remote to = kShared + (happens(3) ? 0xffff - length / 2 : draw(0xe000));
  std::vector<QpPacket> packets;
  switch (draw(5)) {
    case 0:
    case 1:
      packets = write_message(next_psn_, drawn_payload(length), 256, to);
      if (happens(3)) packets[0] = packets[0].with_length(length + 1);
      if (happens(3)) packets[0] = packets[0].with_rkey(Rkey{0xbad});
      break;
    case 2:
    case 3:
      packets = send_message(next_psn_, drawn_payload(length), 256);
      break;
    default:
      packets = {read_request(next_psn_, length, to)};
  }
  if (packets.back().opcode != wire::Opcode::kRcReadRequest && happens(30)) {
    packets.back() = packets.back().with_immediate(draw(1000)).solicits(happens(50));
  }
  for (QpPacket& packet : packets) packet.ack_request |= happens(10);
  if (happens(2) && packets.size() > 2)
    packets.erase(packets.begin() + draw(static_cast<std::uint32_t>(packets.size())));
  if (happens(2) && !packets.back().payload.empty()) packets.back().payload.pop_back();
  const bool is_read = packets.back().opcode == wire::Opcode::kRcReadRequest;
  next_psn_ = packets.back().psn + (is_read ? std::max((length + 255) / 256, 1u) : 1);
  from_peer_.insert(from_peer_.end(), packets.begin(), packets.end());
}

/// A few requests of the peer's: the next ones, or some again, or without those before them.
void RcRunTwins::come() {
  while (from_peer_.size() < next_ + 20) next_message();
  if (happens(8)) next_ -= std::min<std::size_t>(next_, draw(12));
  if (happens(4)) next_ += draw(6);
  // What the peer asks again after a NAK, or goes on with after one that was lost.
  const auto expected = std::find_if(from_peer_.begin(), from_peer_.end(), [&](const QpPacket& packet) {
    return packet.psn == single_->endpoint_.next_receive_psn();
  });
  if (happens(30) && expected != from_peer_.end()) {
    next_ = static_cast<std::size_t>(expected - from_peer_.begin());
  }
  std::vector<QpPacket> run{from_peer_[next_++]};
  const auto goes_on = [&] {
    const wire::OpcodeInfo& last = wire::info(run.back().opcode);
    const QpPacket& packet = from_peer_[next_];
    const wire::OpcodeInfo& next = wire::info(packet.opcode);
    const bool is_of_message =
        !last.ends_message() && next.operation == last.operation && !next.begins_message();
    return run.size() < kRunRoom && is_of_message && !run.back().ack_request &&
           packet.psn == run.back().psn + 1 && run.back().payload.size() == 256 && !packet.payload.empty();
  };
  while (next_ < from_peer_.size() && goes_on() && happens(80)) run.push_back(from_peer_[next_++]);
  give(run);
}

void RcRunTwins::give(const std::vector<QpPacket>& run) {
  for (const QpPacket& packet : run) single_->arrives(packet);
  const QpPacket whole = joined(run);
  const wire::Packet view = whole.view(Twin::kOurs);
  const bool may_be_run = wire::Run::can_hold(whole.opcode) && (run.size() > 1 || happens(30));
  if (may_be_run && in_runs_->endpoint_.on_run({view, PathMtu::k256}, in_runs_->now_)) {
    ++runs_taken_;
    return;
  }
  runs_refused_ += may_be_run;
  for (const QpPacket& packet : run) in_runs_->arrives(packet);
}

/// The peer answers one of the requests that left, not always the right one.
void RcRunTwins::answer() {
  if (requests_.empty()) return;
  const std::size_t place =
      happens(70) ? requests_.size() - 1 -
                        draw(static_cast<std::uint32_t>(std::min<std::size_t>(requests_.size(), 4)))
                  : draw(static_cast<std::uint32_t>(requests_.size()));
  const QpPacket& request = requests_[place];
  if (request.opcode == wire::Opcode::kRcReadRequest) {
    const auto responses = read_responses(request.psn, drawn_payload(request.length), 256);
    std::size_t at = happens(90) ? 0 : draw(static_cast<std::uint32_t>(responses.size()));
    while (at < responses.size() && happens(95)) {
      const std::size_t count = std::min<std::size_t>(responses.size() - at, 1 + draw(kRunRoom));
      give(slice(responses, at, count));
      at += count;
    }
  } else if (happens(85)) {
    give({ack(request.psn, 1)});
  } else if (happens(50)) {
    give({nak(Nak::kSequenceError, request.psn)});
  } else {
    give({rnr_nak(1, request.psn)});
  }
}

/// Lets both send all that they want, one of them in runs. Requests and responses take turns, run by run.
void RcRunTwins::leave() {
  std::array<std::vector<Bytes>, 2> from_single;  // responses, requests
  while (const auto packet = single_->poll_bytes()) {
    from_single[wire::parse_packet(*packet).value().info->is_request].push_back(*packet);
  }
  std::array<std::vector<Bytes>, 2> from_runs;
  Bytes room(52 + kRunRoom * 256);
  for (;;) {
    const WrittenPacket written = in_runs_->endpoint_.poll_run(room, 1 + draw(kRunRoom + 2), in_runs_->now_);
    if (written.size == 0) break;
    const auto whole = wire::parse_packet(std::span(room).first(written.size)).value();
    runs_sent_ += written.packets > 1;
    if (written.packets == 1) {
      from_runs[whole.info->is_request].emplace_back(
          room.begin(), room.begin() + static_cast<std::ptrdiff_t>(written.size));
      continue;
    }
    const wire::Run run(whole, PathMtu::k256);
    ASSERT_EQ(run.packets(), written.packets);
    ASSERT_LE(run.packets(), kRunRoom);
    std::size_t bytes = 0;
    for (std::uint32_t i = 0; i < run.packets(); ++i) {
      const wire::Packet packet = run.packet(i);
      Bytes single(52);
      single.resize(wire::emit_headers(packet, single));
      single.insert(single.end(), packet.payload.begin(), packet.payload.end());
      single.resize(single.size() + packet.bth.pad_count);
      bytes += single.size();
      from_runs[packet.info->is_request].push_back(std::move(single));
    }
    ASSERT_EQ(wire::Run::bytes_of_packets(whole.bth.opcode, written.size, written.packets), bytes);
  }
  if (single_->endpoint_.state() == QpState::kError) {
    // What ends the queue pair, of one direction, stops the other one, which may be further ahead with runs.
    for (std::size_t way : {0u, 1u}) {
      const std::size_t common = std::min(from_runs[way].size(), from_single[way].size());
      from_runs[way].resize(common);
      from_single[way].resize(common);
    }
  }
  ASSERT_EQ(from_runs[0], from_single[0]) << "responses";
  ASSERT_EQ(from_runs[1], from_single[1]) << "requests";
  for (const Bytes& request : from_single[1])
    requests_.push_back(to_value(wire::parse_packet(request).value()));
}

void RcRunTwins::compare() {
  ASSERT_EQ(text_of(*in_runs_), text_of(*single_));
}

void RcRunTwins::compare_memory() {
  ASSERT_EQ(in_runs_->shared_memory(0, 0x10000), single_->shared_memory(0, 0x10000));
  ASSERT_EQ(in_runs_->receive_memory(0, 0x10000), single_->receive_memory(0, 0x10000));
  ASSERT_EQ(in_runs_->local_memory(0, 0x10000), single_->local_memory(0, 0x10000));
}

void RcRunTwins::play(std::uint32_t seed) {
  random_.seed(seed);
  begin();
  for (int step = 0; step < 120; ++step) {
    if (happens(30)) post();
    const std::uint32_t what = draw(100);
    if (what < 55) come();
    if (what >= 55 && what < 85) answer();
    if (what == 99) {
      for (Twin* const each : {in_runs_.get(), single_.get()}) {
        each->now_ = each->now_ + std::chrono::milliseconds(100);
        each->endpoint_.on_timeout(each->now_);
      }
    }
    if (happens(60)) leave();
    compare();
    if (HasFatalFailure()) return;
    if (single_->endpoint_.state() == QpState::kError) break;
  }
  compare_memory();
}

TEST_P(RcRunTwins, AreTheSame) {
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    play(seed);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(runs_taken_, 2000u);
  EXPECT_GT(runs_refused_, 200u);
  EXPECT_GT(runs_sent_, 2000u);
}

}  // namespace
}  // namespace urnic::transport::test
