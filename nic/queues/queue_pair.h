// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QueuePair: the device's object around a transport endpoint: queues, attributes, state changes, doorbell.
#pragma once

#include <atomic>
#include <boost/intrusive/list_hook.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "nic/memory/protection_domain.h"
#include "nic/path/path.h"
#include "nic/path/peer_mac.h"
#include "nic/personality/personality.h"
#include "nic/queues/completion_queue.h"
#include "nic/queues/connection_options.h"
#include "nic/queues/doorbell.h"
#include "nic/queues/needs/queue_engine.h"
#include "nic/queues/polled_rooms.h"
#include "nic/queues/post_watch.h"
#include "nic/queues/posting.h"
#include "nic/queues/qp_monitor.h"
#include "nic/queues/qp_type.h"
#include "nic/queues/queue_pair_snapshot.h"
#include "nic/queues/timer_queue.h"
#include "nic/raw/rss.h"
#include "transport/dependencies.h"
#include "transport/endpoint.h"
#include "transport/qp_state.h"
#include "transport/receive_queue.h"
#include "transport/result.h"
#include "transport/send_queue.h"

namespace urnic::nic {

class Placement;
class SharedReceiveQueue;
class XrcDomain;

/// Asked for at creation; QueuePair::capabilities() tells what was granted (at least as much).
struct QpCapabilities {
  std::uint32_t max_send_wr = 0;
  std::uint32_t max_receive_wr = 0;
  std::uint32_t max_send_sge = 0;
  std::uint32_t max_receive_sge = 0;
  std::uint32_t max_inline_data = 0;
};

struct QpCreateAttributes {
  QpType type = QpType::kRc;
  QpCapabilities capabilities{};
  ProtectionDomain* pd = nullptr;         ///< required, except for an XRC target, which has none
  CompletionQueue* send_queue = nullptr;  ///< completions of sends; required where sends can be posted
  CompletionQueue* receive_queue =
      nullptr;                        ///< completions of receives; required where receives can be posted
  SharedReceiveQueue* srq = nullptr;  ///< to receive into instead of a queue of its own (all but XRC)
  XrcDomain* xrc_domain = nullptr;    ///< of an XRC target; required
  Rss rss{};                          ///< of RSS; its table is required
  bool all_signaled = false;          ///< sq_sig_all
  bool hears_itself = true;           ///< of datagrams: what it sends to a group that it is a member of
  void* context = nullptr;            ///< for the layer above (events name the queue pair by it)
};

/// Attributes of modify(): those that are present are to be changed. query() fills all.
struct QpAttributes {
  std::optional<transport::QpState> state{};
  std::optional<transport::QpState> current_state{};
  std::optional<transport::Access> access{};
  std::optional<std::uint16_t> pkey_index{};
  std::optional<std::uint8_t> port{};
  std::optional<AddressVector> address{};
  std::optional<transport::PathMtu> path_mtu{};
  std::optional<transport::QpNumber> destination_qp{};
  std::optional<transport::Psn> receive_psn{};
  std::optional<std::uint8_t> max_responder_resources{};  ///< max_dest_rd_atomic
  std::optional<std::uint8_t> min_rnr_timer{};
  std::optional<transport::Psn> send_psn{};
  std::optional<std::uint8_t> max_reads_in_flight{};  ///< max_rd_atomic
  std::optional<std::uint8_t> ack_timeout{};
  std::optional<std::uint8_t> retry_count{};
  std::optional<std::uint8_t> rnr_retry{};
  std::optional<std::uint32_t> qkey{};
  std::optional<bool> notify_when_drained{};  ///< of the transition to SQD
  bool is_draining = false;                   ///< of query() only: see Endpoint::is_draining()
};

/// What the scheduler and its timers note about a queue pair. Under the engine lock, except the doorbell.
struct QpSchedule {
  explicit QpSchedule(QueuePair& owner) : qp(owner), doorbell(owner), timer(owner) {}

  /// Which of the scheduler's lists it is in; of those that wait for their way, which of its two.
  enum class Place : std::uint8_t { kNowhere, kResponding, kSending, kParked };
  /// Leaves whatever list it is in.
  using Hook = boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

  QueuePair& qp;
  Doorbell doorbell;
  Timer timer;
  Place place = Place::kNowhere;
  /// What is left of its turn, in bytes of frames: a turn that the round or a full port cuts short goes on
  /// where it was. Not above zero: the next turn is a new one.
  std::int32_t turn_bytes = 0;
  Hook hook;
};

class QueuePair {
 public:
  QueuePair(QueueEngine& engine, transport::Dma& dma, transport::QpEventSink& events,
            transport::Counters& counters, transport::QpNumber number, const QpCreateAttributes& attributes);
  ~QueuePair();

  transport::QpNumber number() const { return number_; }
  void* context() const { return attributes_.context; }
  const QpCreateAttributes& attributes() const { return attributes_; }  ///< with the granted capabilities

  /// Which NIC it is like.
  const Personality& personality() const { return *engine_.config().personality; }

  // --- Data path; any thread ---

  /// Holds the send queue's lock and posts; when it goes out of scope everything posted becomes visible
  /// together and the doorbell rings. Elements and inline data are copied at once.
  class SendBatch {
   public:
    explicit SendBatch(QueuePair& qp);
    ~SendBatch();
    SendBatch(SendBatch&& other) noexcept;  ///< `other` has nothing then, and must not be used
    SendBatch(const SendBatch&) = delete;
    SendBatch& operator=(const SendBatch&) = delete;

    PostStatus post(const transport::SendRequest& request, std::span<const transport::Sge> sges);
    /// Inline: the elements' memory is read now, by plain address; their lkeys are not looked at.
    PostStatus post_inline(const transport::SendRequest& request, std::span<const transport::Sge> sges);
    /// Forgets everything posted in this batch.
    void abort();

   private:
    PostStatus take(const transport::SendRequest& request, std::span<const transport::Sge> sges);
    PostStatus take_inline(const transport::SendRequest& request, std::span<const transport::Sge> sges);
    void note_posted(std::uint64_t bytes);

    QueuePair& qp_;
    std::unique_lock<std::mutex> lock_;
    std::uint32_t posted_ = 0;  ///< requests
    std::uint64_t bytes_ = 0;
  };

  /// The same for the receive queue.
  class ReceiveBatch {
   public:
    explicit ReceiveBatch(QueuePair& qp);
    ~ReceiveBatch();
    ReceiveBatch(const ReceiveBatch&) = delete;
    ReceiveBatch& operator=(const ReceiveBatch&) = delete;

    PostStatus post(const transport::ReceiveRequest& request, std::span<const transport::Sge> sges);

   private:
    PostStatus take(const transport::ReceiveRequest& request, std::span<const transport::Sge> sges);

    QueuePair& qp_;
    std::unique_lock<std::mutex> lock_;
    bool posted_ = false;
  };

  // --- Control path; any thread ---

  /// Null unless its room comes back when the program polls: whoever sees that tells it.
  std::shared_ptr<PolledRoom> room() const { return likeness_ != nullptr ? likeness_->room : nullptr; }

  /// From now on `watch`, which must outlive this, sees what is posted. Before the first post.
  void use(PostWatch& watch) { post_watch_ = &watch; }

  /// Changes state and attributes as libibverbs' modify_qp does, after checking that the transition is legal
  /// and that all it needs and nothing it forbids is given (nic/queues/queue_pair_state.h). EINVAL with the
  /// reason, EMSGSIZE for a path MTU that the link or the way cannot carry, ENONET as Ways::way_to(); then it
  /// changes nothing. Never waits for the network.
  Result<void, Error> modify(const QpAttributes& attributes);
  QpAttributes query() const;

  /// What it offers the peer; nothing for all but RC queue pairs of a device that is told to.
  ConnectionOptions offered_options() const {
    return nic::offered_options(attributes_.type, engine_.config());
  }
  /// Notes which of these, that the peer offers, it has as well: those hold from RTR until RESET. Each call
  /// replaces what the one before has noted; without a call none hold. EINVAL from RTR on.
  Result<void, Error> agree_on(ConnectionOptions peer_options);
  /// What it offers, until agree_on() is called or RTR is reached; then what is agreed.
  ConnectionOptions options() const;

  /// Indirection tables that a work queue is in; destroying it is refused while there are any.
  std::atomic<std::uint32_t> users{0};

  // --- The engine's side; under the engine lock ---

  transport::Endpoint& endpoint() { return *endpoint_; }
  const transport::Endpoint& endpoint() const { return *endpoint_; }
  QueuePairSnapshot snapshot() const;
  /// Null unless the device is to explain failures.
  QpMonitor* monitor() const { return monitor_.get(); }
  /// The send work request that completes next, or null.
  const transport::SendWqe* oldest_send() const {
    return send_queue_.is_empty() ? nullptr : &send_queue_.at(send_queue_.head());
  }
  /// Whether something that was posted is not done.
  bool has_sends() const { return !send_queue_.is_empty(); }
  /// Whether one of them is a datagram to there.
  bool has_send_to(transport::AddressHandleId address) const;
  /// To the peer; leads nowhere for datagrams.
  Path& path() { return path_; }
  const Path& path() const { return path_; }
  PeerMac& peer_mac() { return peer_mac_; }
  /// When the peer may be told again of congestion.
  transport::Time next_cnp() const { return next_cnp_; }
  void expect_cnp(transport::Time next) { next_cnp_ = next; }
  QpSchedule& schedule() { return schedule_; }

  /// Passes on a packet that was checked.
  void on_packet(const transport::wire::Packet& packet, transport::Time now);
  /// As Endpoint::on_run(). A monitor looks at packets.
  bool on_run(const transport::wire::Run& run, transport::Time now) {
    return monitor_ == nullptr && endpoint_->on_run(run, now);
  }
  /// It is about to be destroyed: takes out of its completion queues what it has completed and the program
  /// did not fetch, unless an adversary keeps it. What peers have sent is in memory then.
  void end();
  /// Tells posting threads about a state that the endpoint changed by itself. True when it did: then it has
  /// to be polled again, as a receive may have been posted meanwhile by a thread that did not know.
  bool note_state();

 private:
  /// Why nothing can be posted to the send queue now, or kPosted.
  PostStatus can_post_send(const transport::SendRequest& request, std::size_t sge_count) const;
  bool is_atomic_allowed(const transport::SendRequest& request) const;
  /// `may_be_kept`: by an adversary.
  void discard_completions(bool may_be_kept);
  PostStatus can_post_receive(std::size_t sge_count) const;
  /// Whether a batch of so many bytes, not published yet, may wait for the next post or poll, so that several
  /// frames leave in one burst: that follows at once (see PostRun), the peer has still to acknowledge what
  /// was posted before, and little waits. Under the send lock.
  bool can_wait_for_next(std::uint64_t bytes, bool is_followed);
  static constexpr std::uint32_t kMostWaitingPosts = 7;
  static constexpr std::uint64_t kMostWaitingBytes = 1024;
  /// After the doorbell rang for what was just published: a datagram is the program's to change again when
  /// the post returns. Most have left by now; those that wait (for ARP, for the port, for the thread that has
  /// the engine) are copied.
  void keep_unsent();
  /// For a receive that was just published: whether only the poster would ever look at it.
  bool must_flush_receives();

  void return_room_when_polled();
  Result<void, Error> check_route(const QpAttributes& changes) const;
  transport::QpDependencies dependencies(transport::Dma& dma, transport::QpEventSink& events,
                                         transport::Counters& counters);
  transport::QpConfig config_from(const QpAttributes& attributes) const;
  transport::Recovery recovery() const;
  bool is_before_rtr() const;
  void apply(transport::QpState to, const QpAttributes& attributes);
  void set_address_vector(const AddressVector& address, transport::QpNumber remote_qp);

  /// What it needs to be like another NIC.
  struct Likeness {
    std::shared_ptr<PolledRoom> room;  ///< null: room comes back when the NIC is done
    transport::RetrySchedule retries;  ///< under the engine lock
  };

  QueueEngine& engine_;
  transport::QpNumber number_;
  bool restricts_atomics_ = false;                      // to none, or to aligned addresses
  std::optional<transport::Recovery> agreed_recovery_;  // under the engine lock
  PostWatch* post_watch_ = nullptr;
  QpCreateAttributes attributes_;
  QpAttributes current_;  // under the engine lock
  Path path_;             // under the engine lock
  PeerMac peer_mac_;      // under the engine lock
  transport::Time next_cnp_{};
  QpSchedule schedule_;
  std::mutex send_mutex_;
  /// What posting checks, without the engine lock.
  std::atomic<transport::QpState> posted_state_{transport::QpState::kReset};
  std::uint32_t waiting_posts_ = 0;  // since the last that did not wait; under the send lock
  std::uint64_t waiting_bytes_ = 0;
  std::mutex receive_mutex_;
  std::unique_ptr<Likeness> likeness_;  // of another NIC; null: there is none
  transport::SendQueue send_queue_;
  transport::ReceiveQueue receive_queue_;
  std::unique_ptr<QpMonitor> monitor_;
  std::unique_ptr<Placement> placement_;           // null unless there is an adversary
  std::unique_ptr<transport::Endpoint> endpoint_;  // uses what is above
};

}  // namespace urnic::nic
