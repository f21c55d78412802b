// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SendLedger: which sends of a queue pair a program still has to wait for, as hardware counts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "transport/work_request.h"
#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/buffer_print.h"
#include "verbs_api/sanitizer/ledgers/queues/target_ledger.h"

namespace urnic::verbs_api {

/// What a program requested of a queue, and what it was granted, in work requests.
struct QueueRoom {
  std::uint32_t requested = 0;
  std::uint32_t granted = 0;
};

/// A program knows that a request is done when it has polled the completion of that request, or of a later
/// one of the same queue pair. Hardware takes its slot back then, too (rdma-core's mlx5, irdma and bnxt_re
/// do, as read there). The owner guards it.
class SendLedger {
 public:
  /// What is given by reference outlives the ledger. Complaints are about `name`.
  SendLedger(const std::string& name, QueueRoom room, bool all_signaled, const nic::WriteLog& writes,
             Complaints& complaints);

  /// The device has taken it. Elements of inline data are none of its own.
  void posted(const transport::SendRequest& request, std::span<const transport::Sge> elements,
              std::vector<BufferPrint> prints = {});
  /// The program has polled a receive of the same queue pair.
  void receive_polled() { ++receives_polled_; }
  /// What was posted last, so many, was not sent after all.
  void aborted(std::uint32_t count);
  /// The program has polled its completion. An unsignaled request has one, too, when it fails.
  void polled(std::uint64_t wr_id, bool is_success);
  /// As after a change of the state to RESET: nothing is outstanding.
  void clear();

  std::uint32_t outstanding() const { return tail_ - head_; }
  /// The number of the oldest that is outstanding, and of the next one: they count up.
  std::uint32_t oldest() const { return head_; }
  std::uint32_t next() const { return tail_; }
  /// Those among them that will have a completion if they succeed.
  std::uint32_t signaled() const { return signaled_; }
  bool uses_key(transport::Lkey key) const;
  bool uses_address(transport::AddressHandleId address) const;

 private:
  struct Record {
    std::uint64_t wr_id = 0;
    transport::SendOperation operation{};
    bool is_signaled = false;
    bool is_fenced = false;
    transport::AddressHandleId address{};
    std::vector<transport::Sge> elements;  ///< memory that is read or written
    std::vector<BufferPrint> prints;       ///< of memory that is read
    std::uint64_t receives_polled = 0;     ///< before it
  };

  Record& at(std::uint32_t number) { return ring_[number % ring_.size()]; }
  const Record& at(std::uint32_t number) const { return ring_[number % ring_.size()]; }
  void check_room();
  void check_fence(const Record& record);
  void check_targets(const Record& record);
  void check_id(const Record& record);
  void check_buffers(const Record& record);
  void forget(const Record& record);
  void forget_oldest();

  const std::string& name_;
  QueueRoom room_;
  bool all_signaled_;
  const nic::WriteLog& writes_;
  Complaints& complaints_;
  std::vector<Record> ring_;
  std::uint32_t head_ = 0;  ///< the oldest, by the number of its post
  std::uint32_t tail_ = 0;
  std::uint32_t signaled_ = 0;
  std::uint64_t receives_polled_ = 0;
  std::uint32_t answered_ = 0;  ///< READs and atomics among them
  TargetLedger targets_;        ///< of these
};

}  // namespace urnic::verbs_api
