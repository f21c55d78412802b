// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Recorder: notes of what a NIC does, why it sends a frame again, and what happens to a frame that it drops.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nic/clock.h"
#include "nic/diagnostics/device_counters.h"
#include "nic/queues/post_observer.h"
#include "nic/queues/qp_monitor.h"
#include "nic/queues/queue_pair_snapshot.h"
#include "nic/recording/counter_watch.h"
#include "nic/recording/journal.h"
#include "transport/completion.h"
#include "transport/counters.h"
#include "transport/observer.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/packet.h"
#include "transport/work_request.h"

namespace urnic::nic {

class QueuePair;

/// Exists for devices that are recorded. drivers/pcap/RECORDING.md says what its notes have. It allocates for
/// each note: a recording is made to look at, not to measure.
class Recorder final : public PostObserver {
 public:
  /// All outlive it.
  Recorder(Journal& journal, const Clock& clock, const transport::Counters& counters,
           const DeviceCounters& drops);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void on_posted(transport::QpNumber qp, const transport::SendRequest& request, std::uint64_t bytes) override;
  void on_posted(std::string_view queue, std::uint32_t number, const transport::ReceiveRequest& request,
                 std::uint64_t bytes) override;
  void on_posts_aborted(transport::QpNumber qp) override;
  void on_modified(const QueuePair& qp) override;

  // --- Under the engine lock ---

  /// Stands before `next`, which may be null.
  std::unique_ptr<QpMonitor> watch(QueuePair& qp, std::unique_ptr<QpMonitor> next);
  /// Before and after one of the frames that the port gave is dealt with.
  void on_frame();
  void on_frame_done();
  void forget(transport::QpNumber qp) { seen_.erase(to_integer(qp)); }

  // --- Told by the monitors, under the engine lock ---

  void on_received(const QueuePair& qp);
  void on_sent(const QueuePair& qp, const transport::wire::Bth& bth);
  void on_timeout(const QueuePair& qp, std::uint8_t retries_used);
  void on_refused(const QueuePair& qp, const transport::RefusedRequest& request);
  void on_error_state(const QueuePair& qp);
  void on_completed(const transport::Completion& completion, bool is_receive);

 private:
  /// What was last noted of a queue pair.
  struct Seen {
    nlohmann::ordered_json state;              // its members in notes
    std::optional<transport::Psn> furthest{};  // request that was sent
    std::string_view reason_to_repeat{};       // the last counter that says why it may have gone back
  };
  /// Until the frame is written that led to it.
  struct Waiting {
    std::string_view what;
    std::chrono::nanoseconds time;
    nlohmann::ordered_json members;
  };

  void add(std::string_view what, nlohmann::ordered_json&& members);
  void note_state(const QueuePair& qp);

  Journal& journal_;
  const Clock& clock_;
  CounterWatch counters_;
  std::unordered_map<std::uint32_t, Seen> seen_;
  bool is_in_frame_ = false;
  const QueuePair* receiver_ = nullptr;  // of the frame that is being dealt with
  std::vector<Waiting> waiting_;
};

}  // namespace urnic::nic
