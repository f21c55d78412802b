// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpAccount: which sends and receives of a queue pair are outstanding as hardware counts, by numbers alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nic/queues/post_watch.h"
#include "transport/completion.h"
#include "transport/work_request.h"
#include "verbs_api/sanitizer/accounts/cq_account.h"
#include "verbs_api/sanitizer/accounts/queue_account.h"
#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

/// As long as its sends succeed, the n-th completion that is polled is of the n-th signaled send: so it need
/// not know any work request. After a failure nothing is counted until the queue pair is reset.
class QpAccount final : public nic::PostWatch {
 public:
  struct Facts {
    std::string name;  ///< for people: "QP 0x1a2b3c"
    QueueRoom sends{};
    QueueRoom receives{};
    bool is_all_signaled = false;
    std::shared_ptr<CqAccount> send_cq{};  ///< null where nothing is sent
  };

  /// `complaints` outlives it.
  QpAccount(Facts facts, Complaints& complaints);

  void on_send(const transport::SendRequest& request, std::span<const transport::Sge> elements,
               std::uint64_t inline_bytes, nic::PostStatus status) override;
  void on_sends_aborted(std::uint32_t count) override;
  void on_receive(const transport::ReceiveRequest& request, std::span<const transport::Sge> elements,
                  nic::PostStatus status) override;

  /// The program takes a completion of it. By one thread at a time for sends, and likewise for receives.
  void polled(const transport::Completion& completion);
  /// ibv_modify_qp() has moved it to RESET. Any thread.
  void reset();
  /// ibv_destroy_qp() is about to end it. Any thread.
  void check_destroy() const;

 private:
  enum class State : std::uint8_t {
    kCounting,
    kStopped,  ///< something has failed
    kReset,    ///< the next post is the first
  };

  /// Under the queue's lock: whether the post counts.
  static bool counts(std::atomic<State>& state, QueueAccount& queue);

  const Facts facts_;
  Complaints& complaints_;
  // Under the send queue's lock:
  QueueAccount sends_;
  std::vector<std::uint32_t> ends_;  ///< a ring: how many were posted with each signaled send
  std::uint32_t ends_mask_;
  std::atomic<std::uint32_t> signaled_{0};  ///< that were posted; changed under the lock
  // Under the receive queue's lock:
  QueueAccount receives_;

  std::atomic<State> send_state_{State::kCounting};
  std::atomic<State> receive_state_{State::kCounting};
  std::atomic<std::uint32_t> signaled_polled_{0};
  std::atomic<std::uint32_t> receives_polled_{0};
};

}  // namespace urnic::verbs_api
