// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpLedger: what the sanitizer knows of one queue pair.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nic/queues/post_watch.h"
#include "transport/completion.h"
#include "transport/wire/address.h"
#include "transport/work_request.h"
#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/memory_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/cq_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/list_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/one_at_a_time.h"
#include "verbs_api/sanitizer/ledgers/queues/order_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/receive_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/send_ledger.h"

namespace urnic::verbs_api {

/// What a program requested of single work requests.
struct RequestedSizes {
  static constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t send_elements = kAny;
  std::uint32_t receive_elements = kAny;
  std::uint32_t inline_bytes = kAny;
};

/// How a queue pair was made.
struct QpFacts {
  std::string name;              ///< for people: "QP 0x1a2b3c"
  const void* domain = nullptr;  ///< names its protection domain
  QueueRoom sends{};
  QueueRoom receives{};  ///< all 0 with a shared receive queue
  bool is_all_signaled = false;
  bool has_datagrams = false;
  std::shared_ptr<CqLedger> send_cq{};  ///< null where nothing is sent
  bool has_one_thread = false;          ///< the program has promised that one at a time posts sends
  RequestedSizes sizes{};
  OrderLedger* order = nullptr;  ///< of the device, if the user wants to know; outlives the queue pair
};

/// What both ends of a connection have to agree on.
struct ReadDepth {
  std::optional<unsigned> as_requester{};  ///< max_rd_atomic
  std::optional<unsigned> as_responder{};  ///< max_dest_rd_atomic
};

/// Any thread, except where the device's locks are named.
class QpLedger final : public nic::PostWatch {
 public:
  /// `memory` and `complaints` outlive it.
  QpLedger(QpFacts facts, const MemoryLedger& memory, Complaints& complaints);
  ~QpLedger() override;

  const std::string& name() const { return facts_.name; }

  void on_send(const transport::SendRequest& request, std::span<const transport::Sge> elements,
               std::uint64_t inline_bytes, nic::PostStatus status) override;
  void on_sends_aborted(std::uint32_t count) override;
  void on_receive(const transport::ReceiveRequest& request, std::span<const transport::Sge> elements,
                  nic::PostStatus status) override;

  /// A list is posted to the send queue, and was: `error` is what the program is told, of a request that is
  /// `wr_id` after so many that were taken.
  void list_begins(const PostedList& list);
  void list_ends(const PostedList& list, int error, std::uint64_t wr_id, std::size_t taken);

  /// Whom it is connected with.
  void set_peer(const transport::wire::Gid& peer);
  void set_read_depth(const ReadDepth& depth);
  ReadDepth read_depth() const;

  /// It has refused a request of its peer's, and does nothing more.
  void failed(SanitizerTime now, std::string_view reason);
  /// The program looks at its state, or changes it, or is told of it.
  void noticed();
  /// Time has passed.
  void look(SanitizerTime now);

  /// The program has polled a completion of it.
  void polled(const transport::Completion& completion);
  /// ibv_modify_qp() has moved it to RESET.
  void reset();

  bool uses_key(transport::Lkey key) const;
  bool uses_address(transport::AddressHandleId address) const;
  /// ibv_destroy_qp() is about to end it.
  void check_destroy() const;

 private:
  void check_refused(const transport::SendRequest& request, nic::PostStatus status);
  void check_atomic(const transport::SendRequest& request);
  void check_length(const transport::SendRequest& request, std::uint64_t length);
  void check_sizes(const transport::SendRequest& request, std::size_t elements, std::uint64_t inline_bytes);
  void check_immediate(const transport::Completion& completion);

  QpFacts facts_;
  const MemoryLedger& memory_;
  Complaints& complaints_;
  mutable std::mutex mutex_;  // guards what follows
  SendLedger sends_;
  ReceiveLedger receives_;
  ListLedger lists_;
  ReadDepth depth_;
  transport::wire::Gid peer_{};
  unsigned odd_immediates_ = 0;  // in a row
  std::optional<SanitizerTime> failed_since_;
  std::string failed_why_;
  OneAtATime users_;  // any thread
};

}  // namespace urnic::verbs_api
