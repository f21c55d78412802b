// QpWatch: keeps of one queue pair what explains its failure, and reports it when it fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nic/diagnostics/failure_report.h"
#include "nic/diagnostics/qp_history.h"
#include "transport/completion.h"
#include "transport/observer.h"
#include "transport/time.h"
#include "transport/wire/packet.h"

namespace urnic::nic {

class Engine;
class FailureLog;
class QueuePair;

/// Exists for queue pairs of devices that are to explain failures. Stands between the endpoint and the
/// completion queues. The first failure since the queue pair was changed last is reported: what follows,
/// follows from it. All calls under the engine lock.
class QpWatch final : public transport::QpObserver {
 public:
  /// All outlive it. `sends` and `receives` may be null.
  QpWatch(Engine& engine, FailureLog& log, QueuePair& qp, transport::CompletionSink* sends,
          transport::CompletionSink* receives)
      : engine_(engine), log_(log), qp_(qp), sends_(*this, sends, false), receives_(*this, receives, true) {}

  /// What the endpoint is given in place of its completion queues.
  transport::CompletionSink& sends() { return sends_; }
  transport::CompletionSink& receives() { return receives_; }

  /// The program has changed the queue pair: its next failure is another one.
  void on_modified();
  /// `packet` is what the endpoint wrote, from the BTH on.
  void on_sent(std::span<const std::byte> packet, bool is_reachable, transport::Time now);
  void on_received(const transport::wire::Packet& packet, transport::Time now);

  void on_refused(const transport::RefusedRequest& request) override;
  void on_local_fault(const transport::LocalFault& fault) override;
  void on_ack_timeout(std::uint8_t retries_used, transport::Time now) override;

 private:
  /// Passes completions on, and notices failures.
  class Sink final : public transport::CompletionSink {
   public:
    Sink(QpWatch& watch, transport::CompletionSink* to, bool is_receive)
        : watch_(watch), to_(to), is_receive_(is_receive) {}
    void complete(const transport::Completion& completion) override;
    void complete_after(const transport::AwaitedAck& ack, const transport::Completion& completion) override;

   private:
    void note(const transport::Completion& completion);

    QpWatch& watch_;
    transport::CompletionSink* to_;
    bool is_receive_;
  };

  void on_failed(const transport::Completion& completion, bool is_receive);
  FailureReport report(FailureReport::Kind kind) const;

  Engine& engine_;
  FailureLog& log_;
  QueuePair& qp_;
  Sink sends_;
  Sink receives_;
  QpHistory history_;
  bool has_reported_ = false;
  std::optional<transport::RefusedRequest> refused_;
  std::optional<FailureReport::BadElement> bad_element_;
};

}  // namespace urnic::nic
