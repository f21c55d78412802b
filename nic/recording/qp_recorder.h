// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpRecorder: tells a recorder what one queue pair does.
#pragma once

#include <memory>
#include <utility>

#include "nic/queues/qp_monitor.h"
#include "nic/queues/queue_pair.h"
#include "nic/recording/recorder.h"

namespace urnic::nic {

/// Stands between the endpoint and its completion queues, or the next monitor. Under the engine lock.
class QpRecorder final : public QpMonitor {
 public:
  /// `next` may be null.
  QpRecorder(Recorder& recorder, QueuePair& qp, std::unique_ptr<QpMonitor> next);

  transport::CompletionSink& sends() override { return sends_; }
  transport::CompletionSink& receives() override { return receives_; }
  void on_modified() override;
  void on_sent(std::span<const std::byte> packet, bool is_reachable, transport::Time now) override;
  void on_received(const transport::wire::Packet& packet, transport::Time now) override;
  void on_refused(const transport::RefusedRequest& request) override;
  void on_local_fault(const transport::LocalFault& fault) override;
  void on_ack_timeout(std::uint8_t retries_used, transport::Time now) override;
  void on_no_receive() override;
  void on_error_state() override;

 private:
  class Sink final : public transport::CompletionSink {
   public:
    Sink(Recorder& recorder, transport::CompletionSink* to, bool is_receive)
        : recorder_(recorder), to_(to), is_receive_(is_receive) {}
    void complete(const transport::Completion& completion) override;

   private:
    Recorder& recorder_;
    transport::CompletionSink* to_;
    bool is_receive_;
  };

  Recorder& recorder_;
  QueuePair& qp_;
  std::unique_ptr<QpMonitor> next_;
  Sink sends_;
  Sink receives_;
};

}  // namespace urnic::nic
