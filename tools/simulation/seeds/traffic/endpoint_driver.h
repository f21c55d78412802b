// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EndpointDriver: the application at one end of a pair of queue pairs. It posts what the plan says and hands
// what completes to the oracles.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nic/queues/queue_pair.h"
#include "tools/simulation/seeds/models/completion_model.h"
#include "tools/simulation/seeds/scenario/plan.h"
#include "tools/simulation/seeds/traffic/host.h"
#include "tools/simulation/seeds/traffic/scene.h"
#include "tools/simulation/seeds/traffic/volatile_key.h"
#include "tools/simulation/seeds/traffic/windows.h"

namespace urnic::sim {

class EndpointDriver final : private VolatileKey::User {
 public:
  /// `own` is what this end requests, `peers` what the other end requests and this end receives.
  EndpointDriver(Scene& scene, std::uint32_t pair, Side side, const Plan& own, const Plan& peers);
  ~EndpointDriver() override;
  EndpointDriver(const EndpointDriver&) = delete;
  EndpointDriver& operator=(const EndpointDriver&) = delete;

  void set_peer(EndpointDriver& peer) { peer_ = &peer; }
  /// The queue pair that makes requests, and the one that takes them: two for XRC, otherwise one.
  nic::QueuePair& requester() { return *qp_; }
  nic::QueuePair& responder() { return target_ ? *target_ : *qp_; }
  bool is_xrc() const { return target_ != nullptr; }

  /// Begins a connection with empty queues.
  void on_connected();
  /// Takes up to `most` operations of the plan, posts those that make sense now, and says whether it was any.
  /// Stops early when the queue is full or the plan has ended.
  bool post_sends(std::uint32_t most);
  /// Posts receives until the queue is full; says whether it was any.
  bool post_receives();

  void on_completion(const transport::Completion& completion);
  /// All that was visible has been polled.
  void on_polled();

  /// The send queue goes to SQD, and the program may want to hear when it is drained; or it comes back from
  /// there.
  void begin_draining(bool notify);
  void end_draining();
  bool is_draining() const { return is_draining_; }
  /// In SQD: the event that the program asked for has not come.
  bool awaits_drained() const { return is_draining_ && drained_.expected > drained_.seen; }

  /// The queue pair is in ERR and was flushed: judges and ends whatever is left.
  void on_flushed();
  /// Time enough has passed: the bytes of all WRITEs that succeeded are in the peer's memory.
  void judge_late_writes();
  /// Both ends have been judged so.
  void renew_windows();

  bool has_posted_all() const { return next_operation_ == own_.operations.size(); }
  bool has_receives_to_post() const { return !shares_receives_ && next_receive_ < peers_.receives.size(); }
  bool is_idle() const { return sends_.outstanding() == 0 && receives_.messages_waiting() == 0; }
  /// A work request failed or was flushed, so that the connection has to end.
  bool has_failed() const { return sends_.has_failed() || receives_.has_failed(); }
  /// We moved the queue pair to ERR ourselves, so that flushing is what it should do.
  void expect_flush() { flush_is_expected_ = true; }

  /// The host and the number of the pair, for messages.
  std::string label() const;
  /// For a failure message: what is outstanding.
  std::string describe() const;

 private:
  /// What happened to an operation so far.
  struct Progress {
    std::uint32_t connection = 0;  // in which it was posted; 0 for not yet
    transport::SendOperation posted_as{};
    bool succeeded = false;
    bool overwritten = false;             // a later WRITE of its chain was posted
    bool expects_data = true;             // READ: whether what it must bring is known
    Pattern brings{};                     // READ: that
    std::optional<std::size_t> window{};  // of the peer's, whose key it uses
    bool uses_volatile_key = false;
    bool key_is_going = false;          // the key of either is being taken back, or was
    std::optional<bool> stood_there{};  // WRITE whose key is gone: whether its data stood there then
  };

  /// A work request, and what posting it means to the windows.
  struct Prepared {
    transport::SendRequest request;
    std::optional<std::size_t> window{};  // of the peer's
    std::optional<Windows::Plan> binding{};
  };
  enum class Posted : std::uint8_t { kYes, kSkipped, kNo };

  Posted post(nic::QueuePair::SendBatch& batch, const Operation& operation);
  void prepare_memory(const Operation& operation);
  std::optional<Prepared> prepare(const Operation& operation);
  void prepare_remote(const Operation& operation, Prepared& prepared);
  void prepare_window(const Operation& operation, Prepared& prepared);
  void prepare_invalidation(const Operation& operation, Prepared& prepared);
  void announce(const Operation& operation, const Prepared& prepared);
  void announce_atomic(const Operation& operation, const transport::SendRequest& request);
  void announce_message(const Operation& operation, const transport::SendRequest& request);
  void announce_window(const Operation& operation, const Prepared& prepared);
  void note_chain(const Operation& operation);

  void on_send_ended(const Ended& ended);
  void on_receive_ended(const Ended& ended);
  void on_shared_receive_ended(const Ended& ended);
  void on_received(const Operation& operation);
  void judge_drained();
  void judge_reports();
  void on_succeeded(const Operation& operation);
  void on_not_succeeded(const Operation& operation);
  void on_write_succeeded(const Operation& operation, const Progress& progress);
  void judge_oldest_late_write();
  void judge_late_writes_before(std::uint64_t wr_id);
  void judge_writes_before(const Operation& message);
  void on_atomic_succeeded(const Operation& operation);
  void end_use_of_key(const Operation& operation, const Progress& progress);

  // What this end's windows mean to the peer's work requests.
  void note_users_at_risk(std::size_t window);
  void cut_users_off(std::size_t window);
  void on_key_gone(std::uint64_t wr_id) override;
  void judge_send_failure(const transport::Completion& completion);
  void judge_receive_failure(const transport::Completion& completion);
  bool may_lack_access(const Operation& operation) const;
  void judge_flush(const char* complaint);
  bool flush_is_legitimate();
  bool may_have_failed_silently();
  /// Whether the network and the peer are such that a request must be answered.
  bool must_succeed() const;
  bool peer_is_well() const;
  /// For how long an acknowledgement of the peer has been pending, and for how long it may be.
  Duration silence_of_responder() const;
  /// What its answers may have to wait for, at most.
  Duration longest_silence() const;
  /// A pair that breaks rules takes keys back without waiting for their users.
  bool is_heedless() const { return pair_ == scene_.options.pairs; }

  /// `pieces`, one after the other, must hold the pattern.
  void settle(Host& host, const std::vector<Range>& pieces, Pattern pattern, const Operation& operation);
  /// The application may reuse memory that the NIC is done with; every other time it does, at once.
  void maybe_scribble(Host& host, const std::vector<Range>& pieces);
  const Operation& operation_of(std::uint64_t wr_id) const {
    return own_.operations[wr_id - own_.operations.front().id];
  }
  Progress& progress_of(const Operation& operation) {
    return progress_[operation.id - own_.operations.front().id];
  }
  const Receive& receive_of(std::uint64_t wr_id) const { return peers_.receives[wr_id & 0xffffffffu]; }
  std::vector<Range> written_part(const Receive& receive) const;
  void complain(std::string_view oracle, const std::string& what);

  Scene& scene_;
  std::uint32_t pair_;
  Side side_;
  Host& host_;
  Host& peer_host_;
  const Plan& own_;
  const Plan& peers_;
  bool shares_receives_;
  EndpointDriver* peer_ = nullptr;
  std::unique_ptr<nic::QueuePair> qp_;
  std::unique_ptr<nic::QueuePair> target_;  // of XRC
  Windows windows_;                         // what we open for the peer

  std::uint32_t connection_ = 0;
  std::size_t next_operation_ = 0;
  std::size_t next_receive_ = 0;  // to be posted; of those that share a queue, to complete
  std::vector<Progress> progress_;
  SendCompletions sends_;
  ReceiveCompletions receives_{0, 0};
  bool flush_is_expected_ = false;
  bool is_draining_ = false;
  struct {
    std::uint32_t expected = 0;  // events, on this connection
    std::uint32_t seen = 0;
  } drained_;
  std::vector<Range> undetermined_;  // at the peer: packets of failed WRITEs may still be on their way there
  std::vector<std::uint64_t> undetermined_atomics_;  // the same
  /// WRITEs of ours that were acknowledged, and whose bytes a NIC with an adversary may hold back.
  struct LateWrite {
    std::uint64_t wr_id = 0;
    Time due{};
  };
  std::deque<LateWrite> late_writes_;  // the oldest first
  std::size_t first_unjudged_ = 0;     // of our operations, by judge_writes_before()
  /// A flush whose reason may be told later: it completes in another queue.
  std::optional<std::string> flush_without_reason_;
  std::optional<std::string> missing_acknowledgement_;
  std::vector<Ended> ended_;
};

}  // namespace urnic::sim
