// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SrqLedger: what the sanitizer knows of one shared receive queue.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "nic/queues/post_watch.h"
#include "transport/work_request.h"
#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/memory_ledger.h"
#include "verbs_api/sanitizer/ledgers/queues/receive_ledger.h"

namespace urnic::verbs_api {

/// Its receives complete in any order. A program may use all the room that ibv_create_srq() gives back, and
/// UCX does. Any thread.
class SrqLedger final : public nic::ReceiveWatch {
 public:
  struct Facts {
    std::string name;              ///< for people: "SRQ 0x1"
    const void* domain = nullptr;  ///< names its protection domain
    QueueRoom room{};
    bool is_for_xrc = false;
  };

  /// `memory` and `complaints` outlive it.
  SrqLedger(Facts facts, const MemoryLedger& memory, Complaints& complaints)
      : facts_(std::move(facts)),
        memory_(memory),
        receives_(facts_.name, facts_.room, complaints, Finding::kGrantedRoomUsed) {}

  const std::string& name() const { return facts_.name; }
  bool is_for_xrc() const { return facts_.is_for_xrc; }

  void on_receive(const transport::ReceiveRequest& request, std::span<const transport::Sge> elements,
                  nic::PostStatus status) override;

  /// The program has polled a completion of one of its receives.
  void polled();
  /// ibv_modify_srq() has resized it.
  void resized(QueueRoom room);
  /// A queue pair is gone, with its completions that were not polled. So many receives wait.
  void limit(std::uint32_t outstanding);

 private:
  Facts facts_;
  const MemoryLedger& memory_;
  std::mutex mutex_;  // guards what follows
  ReceiveLedger receives_;
};

}  // namespace urnic::verbs_api
