// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpWatch: keeps of one queue pair what explains its failure, and reports it when it fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nic/clock.h"
#include "nic/config.h"
#include "nic/diagnostics/failure_report.h"
#include "nic/diagnostics/qp_history.h"
#include "nic/queues/qp_monitor.h"
#include "transport/completion.h"
#include "transport/observer.h"
#include "transport/time.h"
#include "transport/wire/packet.h"

namespace urnic::nic {

class FailureLog;
class MemoryTable;
class NeighborCache;
class QueuePair;

/// Exists for queue pairs of devices that are to explain failures. Stands between the endpoint and the
/// completion queues. The first failure since the queue pair was changed last is reported: what follows,
/// follows from it. All calls under the engine lock.
class QpWatch final : public QpMonitor {
 public:
  /// Where a report finds what was true of the device when a queue pair failed.
  struct Facts {
    const DeviceConfig& config;
    const Clock& clock;
    const MemoryTable& memory;
    const NeighborCache& neighbors;
  };

  /// All outlive it.
  QpWatch(const Facts& facts, FailureLog& log, QueuePair& qp);

  transport::CompletionSink& sends() override { return sends_; }
  transport::CompletionSink& receives() override { return receives_; }
  void on_modified() override;
  void on_sent(std::span<const std::byte> packet, bool is_reachable, transport::Time now) override;
  void on_received(const transport::wire::Packet& packet, transport::Time now) override;

  void on_refused(const transport::RefusedRequest& request) override;
  void on_local_fault(const transport::LocalFault& fault) override;
  void on_ack_timeout(std::uint8_t retries_used, transport::Time now) override;
  void on_no_receive() override;
  void on_error_state() override {}  // the completions say it

 private:
  /// Passes completions on, and notices failures.
  class Sink final : public transport::CompletionSink {
   public:
    Sink(QpWatch& watch, transport::CompletionSink* to, bool is_receive)
        : watch_(watch), to_(to), is_receive_(is_receive) {}
    void complete(const transport::Completion& completion) override;

   private:
    QpWatch& watch_;
    transport::CompletionSink* to_;
    bool is_receive_;
  };

  void note_request(transport::Psn psn);
  void note_answer(transport::Psn psn);
  void note_own_answer(std::uint8_t syndrome);
  void on_failed(const transport::Completion& completion, bool is_receive);
  FailureReport report(FailureReport::Kind kind) const;

  const Facts facts_;
  FailureLog& log_;
  QueuePair& qp_;
  Sink sends_;
  Sink receives_;
  QpHistory history_;
  bool has_reported_ = false;
  bool has_told_of_depth_ = false;
  bool has_told_of_receives_ = false;
  std::optional<transport::RefusedRequest> refused_;
  std::optional<FailureReport::BadElement> bad_element_;
};

}  // namespace urnic::nic
