// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: a communication manager between peers that say anything and a consumer that asks for anything.
//
// The input is a sequence of steps: what to do, an argument, then what that step takes; see Step. Nothing may
// crash; the consumer is told of ids that it has, and of each until it ends; deadlines lie ahead; and once
// the consumer has released all ids and time has passed, nothing is left.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "nic/cm/communication_manager.h"
#include "nic/cm/consumer.h"
#include "nic/cm/message.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic::cm {
namespace {

using transport::kNever;
using transport::QpNumber;
using transport::Time;
using transport::wire::Gid;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

/// The rest of the input; zeros after its end.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool is_empty() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  void copy(std::span<std::byte> to) {
    const std::size_t size = std::min(to.size(), bytes_.size());
    std::memcpy(to.data(), bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// The low four bits of a step's first byte; the second byte chooses an id.
enum class Step : std::uint8_t {
  kMessage,  ///< kind, peer, number of patches (at most 3), patches: a byte's place and its value
  kBytes,    ///< 256 bytes, as they are
  kPass,     ///< the argument in units of 100 ms
  kPassToTimeout,
  kRequest,
  kAccept,
  kReady,
  kReject,
  kDisconnect,
  kEstablish,
  kRelease,
  kSidrRequest,
  kSidrReply,
  kReflect,   ///< our own messages come back
  kDecision,  ///< how the consumer answers requests from now on
  kHabit,     ///< what the consumer does at once when it is told something
};

const Gid kOwnGid = Gid::from_ipv4({{10, 0, 0, 1}});

/// Few peers with few numbers, so that they meet.
struct Peer {
  explicit Peer(std::uint8_t choice)
      : gid(Gid::from_ipv4({{10, 0, 0, static_cast<std::uint8_t>((choice & 1u) != 0 ? 3 : 2)}})),
        guid((choice & 2u) != 0 ? 0xbb : 0xaa),
        id{0x900u + (choice >> 2 & 3u)},
        qp{0x20u + (choice >> 4 & 3u)} {}

  Gid gid;
  std::uint64_t guid;
  CommunicationId id;
  QpNumber qp;
};

class World final : private Consumer {
 public:
  void run(Input input) {
    for (std::size_t steps = 0; !input.is_empty() && steps < kMaxSteps; ++steps) {
      step(input);
      check();
    }
    finish();
  }

 private:
  static constexpr std::size_t kMaxSteps = 2000;

  void step(Input& input) {
    const auto what = static_cast<Step>(input.byte() & 0xfu);
    const std::uint8_t argument = input.byte();
    const CommunicationId id = chosen(argument);
    switch (what) {
      case Step::kMessage:
        return deliver_message(id, input);
      case Step::kBytes:
        return deliver_bytes(argument, input);
      case Step::kPass:
        now_ += std::chrono::milliseconds(100) * argument;
        return manager_.on_timeout(now_);
      case Step::kPassToTimeout:
        return pass_to_timeout();
      case Step::kRequest:
        return own(manager_.request(request(Peer(argument)), path(Peer(argument)), now_));
      case Step::kAccept:
        return manager_.accept(id, {.local_qp = QpNumber{0x11}}, now_);
      case Step::kReady:
        return manager_.ready(id);
      case Step::kReject:
        return reject(id);
      case Step::kDisconnect:
        static_cast<void>(manager_.disconnect(id, now_));
        return;
      case Step::kEstablish:
        static_cast<void>(manager_.establish(id));
        return;
      case Step::kRelease:
        return release(id);
      case Step::kSidrRequest:
        return own(manager_.sidr_request({.service_id = ServiceId{0x1111c06}}, path(Peer(argument)), now_));
      case Step::kSidrReply:
        return sidr_reply(id);
      case Step::kReflect:
        return reflect(argument);
      case Step::kDecision:
        decision_ = static_cast<Decision::Kind>(argument % 3);
        return;
      case Step::kHabit:
        habit_ = argument;
        return;
    }
  }

  // --- Messages ---

  Req request(const Peer& peer) const {
    return {.local_id = peer.id,
            .service_id = ServiceId{0x1061c06},
            .local_ca_guid = peer.guid,
            .local_qp = QpNumber{0x11},
            .remote_response_timeout = 10,
            .local_response_timeout = 10,
            .max_cm_retries = 3,
            .path = {.local_gid = kOwnGid, .remote_gid = peer.gid, .local_ack_timeout = 14}};
  }
  static MadPath path(const Peer& peer) { return {.source = kOwnGid, .destination = peer.gid}; }

  Message peer_message(std::uint8_t kind, CommunicationId own, const Peer& peer) const {
    switch (kind % 10) {
      case 0: {
        Req req = request(peer);
        req.local_qp = peer.qp;
        std::swap(req.path.local_gid, req.path.remote_gid);
        return req;
      }
      case 1:
        return Rep{.local_id = peer.id, .remote_id = own, .local_qp = peer.qp, .local_ca_guid = peer.guid};
      case 2:
        return Rtu{.local_id = peer.id, .remote_id = own};
      case 3:
        return Rej{.local_id = peer.id, .remote_id = own, .reason = RejectReason::kConsumerDefined};
      case 4:
        return Mra{.local_id = peer.id, .remote_id = own, .service_timeout = 24};
      case 5:
        return Dreq{.local_id = peer.id, .remote_id = own, .remote_qp = QpNumber{0x11}};
      case 6:
        return Drep{.local_id = peer.id, .remote_id = own};
      case 7:
        return SidrReq{.request_id = peer.id, .service_id = ServiceId{0x1111c06}};
      case 8:
        return SidrRep{.request_id = own, .qp = peer.qp};
      default:
        return Rej{.local_id = peer.id, .answered = Answered::kOther, .reason = RejectReason::kTimeout};
    }
  }

  void deliver_message(CommunicationId own, Input& input) {
    const std::uint8_t kind = input.byte();
    const Peer peer(input.byte());
    MadBytes bytes = write({.transaction_id = kind, .message = peer_message(kind, own, peer)});
    for (unsigned patches = input.byte() & 3u; patches > 0; --patches) {
      const std::size_t at = input.byte();
      bytes[at] = std::byte{input.byte()};
    }
    manager_.on_mad(bytes, {.source = peer.gid, .destination = kOwnGid}, now_);
  }

  void deliver_bytes(std::uint8_t peer, Input& input) {
    MadBytes bytes{};
    input.copy(bytes);
    manager_.on_mad(bytes, {.source = Peer(peer).gid, .destination = kOwnGid}, now_);
  }

  void reflect(std::uint8_t peer) {
    std::vector<MadBytes> messages;
    for (; manager_.has_outgoing() && messages.size() < 16; manager_.pop()) {
      messages.push_back(manager_.next_outgoing().bytes);
    }
    for (const MadBytes& bytes : messages) {
      manager_.on_mad(bytes, {.source = Peer(peer).gid, .destination = kOwnGid}, now_);
    }
  }

  // --- The consumer ---

  /// Of those that there are or were; sometimes one that never was.
  CommunicationId chosen(std::uint8_t argument) const {
    return argument < all_.size() ? all_[all_.size() - 1 - argument] : CommunicationId{argument};
  }
  void own(std::optional<CommunicationId> id) {
    require(id.has_value(), "there is room");
    const bool is_new = live_.insert(*id).second;
    require(is_new, "an id is given once");
    all_.push_back(*id);
  }
  void reject(CommunicationId id) {
    const Connection* const connection = manager_.find(id);
    const bool is_undecided = connection != nullptr && (connection->state == State::kReqReceived ||
                                                        connection->state == State::kRepSent ||
                                                        connection->state == State::kRepReceived);
    if (is_undecided) live_.erase(id);
    manager_.reject(id, {.reason = RejectReason::kConsumerDefined}, now_);
  }
  void sidr_reply(CommunicationId id) {
    const Connection* const connection = manager_.find(id);
    if (connection != nullptr && connection->state == State::kSidrReqReceived) live_.erase(id);
    manager_.sidr_reply(id, {.qp = QpNumber{0x11}}, now_);
  }
  void release(CommunicationId id) {
    live_.erase(id);
    manager_.release(id, now_);
  }

  void expect_live(CommunicationId id) const { require(live_.contains(id), "the consumer has this id"); }
  void expect_end(CommunicationId id) {
    expect_live(id);
    live_.erase(id);
  }
  /// The low bits say what is done at once.
  void react(CommunicationId id) {
    if ((habit_ & 1u) != 0) manager_.ready(id);
    if ((habit_ & 2u) != 0) manager_.accept(id, {.local_qp = QpNumber{0x11}}, now_);
    if ((habit_ & 4u) != 0) static_cast<void>(manager_.disconnect(id, now_));
    if ((habit_ & 8u) != 0) reject(id);
    if ((habit_ & 16u) != 0) release(id);
    if ((habit_ & 32u) != 0) sidr_reply(id);
  }

  Decision on_request(CommunicationId id, const Req&, const Arrival&, Time) override {
    if (decision_ != Decision::Kind::kPending)
      return {.kind = decision_, .reason = RejectReason::kInvalidServiceId};
    own(id);
    react(id);
    return {};
  }
  void on_reply(CommunicationId id, const Rep&) override {
    expect_live(id);
    react(id);
  }
  void on_ready(CommunicationId id) override {
    expect_live(id);
    react(id);
  }
  void on_rejected(CommunicationId id, const Rej&) override { expect_end(id); }
  void on_refused(const Req&, RejectReason, const Arrival&) override {}
  void on_unanswered(CommunicationId id, const Silence&) override { expect_end(id); }
  void on_disconnect_request(CommunicationId id) override {
    expect_live(id);
    react(id);
  }
  void on_disconnected(CommunicationId id, bool) override {
    expect_live(id);
    react(id);
  }
  void on_timewait_exit(CommunicationId id) override { expect_end(id); }
  SidrDecision on_sidr_request(CommunicationId id, const SidrReq&, const Arrival&, Time) override {
    if (decision_ != Decision::Kind::kPending) return {.kind = decision_, .status = SidrStatus::kUnsupported};
    own(id);
    react(id);
    return {};
  }
  void on_sidr_reply(CommunicationId id, const SidrRep&) override { expect_end(id); }

  // --- What must hold ---

  void check() {
    require(manager_.connection_count() >= live_.size(), "the consumer's ids are connections");
    for (const CommunicationId id : live_) {
      const Connection* const connection = manager_.find(id);
      require(connection != nullptr && !connection->is_released, "an id of the consumer means something");
      require(!name_of(connection->state).empty(), "a connection has a state");
      const bool waits = connection->state == State::kReqSent || connection->state == State::kRepSent ||
                         connection->state == State::kDreqSent || connection->state == State::kTimewait ||
                         connection->state == State::kSidrReqSent;
      require(waits == (connection->deadline != kNever), "what waits for the peer has a deadline");
      require(connection->deadline >= manager_.next_timeout(), "no deadline is earlier than the next");
    }
    for (; manager_.has_outgoing(); manager_.pop()) {
      const auto& bytes = manager_.next_outgoing().bytes;
      require(std::holds_alternative<Mad>(parse(bytes)), "what is sent can be read");
      require(!unreadable_request(bytes), "what is sent can be read");
    }
  }

  void pass_to_timeout() {
    if (manager_.next_timeout() == kNever) return;
    now_ = std::max(now_, manager_.next_timeout());
    manager_.on_timeout(now_);
    require(manager_.next_timeout() > now_, "a deadline that has passed is dealt with");
  }

  void finish() {
    while (!live_.empty()) release(*live_.begin());
    check();
    // Each repeats at most 15 times, and waits at most once more.
    const std::size_t most = manager_.connection_count() * 20;
    for (std::size_t i = 0; manager_.next_timeout() != kNever; ++i) {
      require(i <= most, "time passes");
      pass_to_timeout();
      for (; manager_.has_outgoing(); manager_.pop()) continue;
    }
    require(manager_.connection_count() == 0, "nothing is left of what was released");
  }

  CommunicationManager manager_{0x1234, 1, *this};
  Time now_{std::chrono::seconds(1)};
  std::set<CommunicationId> live_;
  std::vector<CommunicationId> all_;
  Decision::Kind decision_ = Decision::Kind::kPending;
  std::uint8_t habit_ = 0;
};

}  // namespace
}  // namespace urnic::nic::cm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  urnic::nic::cm::World().run(urnic::nic::cm::Input(std::span(data, size)));
  return 0;
}
