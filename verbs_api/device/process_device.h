// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ProcessDevice: one device of this process, shared by every context that is opened on it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "nic/clock.h"
#include "nic/congestion/parameter_watch.h"
#include "nic/device/device.h"
#include "nic/diagnostics/counter_files.h"
#include "nic/diagnostics/report_printer.h"
#include "nic/diagnostics/status_server.h"
#include "nic/host/address_watch.h"
#include "transport/result.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/config/environment.h"
#include "verbs_api/device/xrc_domains.h"
#include "verbs_api/device/xrc_targets.h"
#include "verbs_api/sanitizer/accounts/accounts.h"

namespace urnic::verbs_api {

class Context;

/// All contexts of a device share it, because two of them in one program expect to reach each other.
class ProcessDevice {
 public:
  /// Starts nothing but what explains failures. `mutex` guards the device, except where the contrary is said,
  /// and must outlive it. The error is for the person.
  static Result<std::unique_ptr<ProcessDevice>, Error> make(NicEnvironment environment, std::mutex& mutex);
  ProcessDevice(const ProcessDevice&) = delete;
  ProcessDevice& operator=(const ProcessDevice&) = delete;

  // --- Without the mutex ---

  nic::Device& nic() const { return *nic_; }
  XrcDomains& xrc_domains() { return xrc_domains_; }
  /// Of its XRC domains.
  XrcTargets& xrc_targets() { return xrc_targets_; }
  const NicEnvironment& environment() const { return environment_; }
  /// Of its queue pairs; null unless failures are explained, and the sanitizer does not look.
  Accounts* accounts() const { return accounts_.get(); }

  // --- With it ---

  /// From now on other programs may ask what the device does, and change its parameters of congestion
  /// control. Called when the program opens something of it.
  void watch();

  /// Open contexts, so that others can find them.
  void add(Context& context);
  void remove(Context& context) { contexts_.erase(&context); }
  const std::unordered_set<Context*>& contexts() const { return contexts_; }

  /// Takes the NIC's link down, or up again, and tells the open contexts if that changes the port.
  Result<void, Error> change_link(bool is_up);
  void tell_contexts(ibv_event_type event) const;

  /// The program ends with something of it open: lets the peers drain (design decision 11).
  void linger();
  /// The program ends, and has closed everything: what was counted goes where others see it.
  void leave();

  /// In the child of a fork: whatever the parent had opened is dead there. Returns whether the child may open
  /// the device's port for itself.
  static bool abandon_in_child(std::unique_ptr<ProcessDevice> device);

 private:
  ProcessDevice(NicEnvironment environment, std::mutex& mutex)
      : mutex_(mutex), environment_(std::move(environment)) {}

  void let_others_watch();
  void let_others_set_parameters();
  void write_counters() const;
  void follow_the_host();
  bool on_host(const nic::HostInterfaces& host);
  std::string answer(std::string_view request);
  std::string set_link(bool is_up);
  bool lose_link();
  void tell_of_link() const;
  void show_host() const;

  std::mutex& mutex_;
  NicEnvironment environment_;
  nic::SteadyClock clock_;
  std::unique_ptr<nic::Device> nic_;  // uses the two above
  std::unique_ptr<Accounts> accounts_;
  XrcDomains xrc_domains_;
  XrcTargets xrc_targets_;
  std::unordered_set<Context*> contexts_;
  std::unique_ptr<nic::CounterFiles> counter_files_;  // that show the device, if any; used by the status
  std::unique_ptr<nic::ReportPrinter> printer_;       // of the device's failures, if they are to be explained
  std::unique_ptr<nic::StatusServer> status_;         // of the device; from the first open context on
  std::unique_ptr<nic::ParameterWatch> parameters_;   // the same, where there are files of it
  bool had_carrier_ = false;                          // its first interface of the host, at some time
  std::unique_ptr<nic::AddressWatch> addresses_;      // the same, where the NIC shares the host's
};

}  // namespace urnic::verbs_api
