// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Experiment: a workload on a topology, in virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "drivers/fault/network_faults.h"
#include "drivers/network/network.h"
#include "tools/simulation/experiment/connection.h"
#include "tools/simulation/experiment/machine.h"
#include "tools/simulation/experiment/outcome.h"
#include "tools/simulation/experiment/step_tracker.h"
#include "tools/simulation/experiment/watchers.h"
#include "tools/simulation/experiment/workload.h"
#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/kernel/event_queue.h"

namespace urnic::experiment {

/// Devices on the hosts that the workload needs. The same topology, workload and seed give the same outcome.
class Experiment final : public network::Sink {
 public:
  /// `workload` is for `topology`, and outlives it. Throws std::runtime_error, for a person, when a NIC
  /// cannot have what the workload asks for: too many queue pairs or work requests.
  Experiment(const network::Topology& topology, const Workload& workload, std::uint64_t seed);
  ~Experiment() override;
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;

  /// Tells it of what happens in the network until run() ends; before run(). It lives as long as that.
  void add_watcher(network::Observer& watcher) { watchers_.add(watcher); }
  /// Calls it every `interval` with the time since the start, less often while nothing happens, and at the
  /// end; before run().
  void sample_every(Duration interval, std::function<void(Duration)> sample);

  /// Until the workload is over, or its time is, or a work request fails, or nothing happens any more. Once.
  Outcome run();

  // What samplers look at.
  const network::Network& network() const { return network_; }
  const StepTracker& tracker() const { return tracker_; }
  const std::vector<std::unique_ptr<Connection>>& connections() const { return connections_; }
  /// Null: the workload does not need that host.
  nic::Device* device(HostId host);

  void deliver(HostId host, std::span<const std::byte> frame, Time time) override;
  void on_room(HostId host, unsigned priority, Time time) override;

 private:
  struct Wake {
    Time time{};
    HostId host{};
  };

  void make_machines();
  void make_connections();
  bool step();
  Time next_time();
  void begin_due();
  void mark(HostId host);
  void run_marked();
  void run_machine(HostId host);
  void take(HostId host, const transport::Completion& completion);
  bool is_stalled() const;
  Duration now() const { return clock_.now().time_since_epoch(); }
  void shut_down();

  // experiment_outcome.cc
  Outcome outcome() const;
  std::vector<JobOutcome> job_outcomes() const;
  TransportOutcome transport_outcome() const;
  std::vector<PortOutcome> port_outcomes() const;

  const Workload& workload_;
  kernel::Clock clock_;
  Watchers watchers_;
  std::unique_ptr<drivers::NetworkFaults> link_faults_;  // null: no link has any
  network::Network network_;
  std::vector<std::byte> memory_;
  MachineWorld world_;
  std::vector<std::unique_ptr<Machine>> machines_;  // by host
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::size_t> connection_of_step_;
  std::unordered_map<std::uint64_t, Connection*> by_queue_pair_;  // looked up, never iterated
  StepTracker tracker_;
  std::vector<std::uint64_t> done_bytes_;  // by step
  std::vector<HostId> marked_;             // which have something to do
  std::vector<bool> is_marked_;
  std::vector<Time> wake_of_;  // by host: the earliest one in wakes_ that counts
  kernel::EventQueue<Wake> wakes_;
  Duration interval_{};
  std::function<void(Duration)> sample_;
  Time next_sample_ = transport::kNever;
  std::uint64_t runs_ = 0;          // of machines
  std::uint64_t runs_sampled_ = 0;  // at the last sample
  bool is_quiet_ = false;           // none between the last two
  Time last_delivery_{};
  std::string failure_;
  std::vector<std::string> faults_;
};

}  // namespace urnic::experiment
