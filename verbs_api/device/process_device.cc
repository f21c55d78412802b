// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/process_device.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "nic/device/device_snapshot.h"
#include "nic/diagnostics/shown_counters.h"
#include "nic/diagnostics/snapshot_json.h"
#include "nic/diagnostics/status_request.h"
#include "nic/host/host_addresses.h"
#include "nic/process/own_thread.h"
#include "verbs_api/config/port_opener.h"
#include "verbs_api/config/sysfs_text.h"
#include "verbs_api/device/async_events.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/device_list.h"
#include "verbs_api/device/event_delivery.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/list_objects.h"
#include "verbs_api/sanitizer/sanitizer.h"

namespace urnic::verbs_api {
namespace {

/// Where files show the device; there must be some.
std::string device_folder(const NicEnvironment& settings) {
  return settings.paths_folder + "/sys/class/infiniband/" + settings.device.name;
}

}  // namespace

Result<std::unique_ptr<ProcessDevice>, Error> ProcessDevice::make(NicEnvironment environment,
                                                                  std::mutex& mutex) {
  std::unique_ptr<ProcessDevice> made(new ProcessDevice(std::move(environment), mutex));
  const NicEnvironment& settings = made->environment_;
  if (!settings.processors.empty()) {
    const auto chosen = nic::choose_own_processors(settings.processors);
    if (!chosen) return Error{.code = EINVAL, .message = "URNIC_CPUS: " + chosen.error().message};
  }
  const nic::Clock* clock = &made->clock_;
  if (settings.granted_clock != nullptr) clock = settings.granted_clock.get();
  made->nic_ =
      std::make_unique<nic::Device>(settings.device, *clock, [&settings] { return open_port(settings); });
  made->nic_->set_event_handlers({.on_qp = deliver_qp_event,
                                  .on_wq_fatal = deliver_wq_fatal,
                                  .on_srq_limit = deliver_srq_limit,
                                  .on_cq_overrun = deliver_cq_overrun,
                                  .on_link_lost = [device = made.get()] { return device->lose_link(); }});
  if (settings.explains && !settings.sanitizer) made->accounts_ = std::make_unique<Accounts>();
  if (nic::FailureLog* const failures = made->nic_->failures()) {
    nic::ReportPrinter::Options options{.is_silent = !settings.explains};
    if (settings.sanitizer) options.listener = &sanitizer().listener(settings.number);
    auto printer = nic::ReportPrinter::start(*failures, STDERR_FILENO, options);
    if (!printer) return printer.error();
    made->printer_ = std::move(printer.value());
  }
  return made;
}

void ProcessDevice::add(Context& context) {
  contexts_.insert(&context);
  watch();
}

void ProcessDevice::watch() {
  let_others_watch();
  let_others_set_parameters();
  follow_the_host();
}

// The program has its NIC even if no other program can ask what it does.
void ProcessDevice::let_others_watch() {
  if (status_ != nullptr) return;
  if (!environment_.paths_folder.empty()) {
    const auto shown = nic::shown_counter_names(environment_.paths_folder, environment_.device.name);
    counter_files_ = std::make_unique<nic::CounterFiles>(device_folder(environment_) + "/ports/1", shown);
  }
  auto started = nic::StatusServer::start({
      .answer = [this](std::string_view request) { return answer(request); },
      .write_down = [this] { write_counters(); },
      .period_ms = counter_files_ != nullptr ? nic::CounterFiles::kPeriodMs : -1,
      .device = environment_.number,
  });
  if (started) {
    status_ = std::move(started.value());
  } else if (environment_.verbose) {
    report(started.error());
  }
}

/// On the thread of the status, or after that has ended.
void ProcessDevice::write_counters() const {
  if (counter_files_ != nullptr) counter_files_->add(nic_->all_counters());
}

/// On the server's thread.
std::string ProcessDevice::answer(std::string_view request) {
  if (request.empty()) {
    nic::DeviceSnapshot snapshot = nic::take_snapshot(*nic_);
    list_objects(device_of(*nic_), snapshot.objects);
    return nic::to_json(snapshot);
  }
  if (request == nic::kLinkDown) return set_link(false);
  if (request == nic::kLinkUp) return set_link(true);
  if (request == nic::kWriteCounters) return std::string(nic::kCarriedOut);  // the server has had it done
  return "this urnic does not know the request";
}

/// Empty words would be no answer.
std::string ProcessDevice::set_link(bool is_up) {
  constexpr int kTries = 100;
  std::unique_lock lock(mutex_, std::try_to_lock);
  // This object ends the thread under the mutex: so it does not wait for that.
  for (int i = 0; i < kTries && !lock; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    lock = std::unique_lock(mutex_, std::try_to_lock);
  }
  if (!lock) return "the process is just opening or closing its devices; try again";
  const auto changed = change_link(is_up);
  return changed ? std::string(nic::kCarriedOut) : changed.error().message;
}

Result<void, Error> ProcessDevice::change_link(bool is_up) {
  const bool had_link = nic_->has_link();
  auto changed = nic_->set_link(is_up);
  if (nic_->has_link() != had_link) tell_of_link();
  return changed;
}

/// A thread that ends this object holds the mutex, and waits for the one that runs this, or runs it itself.
bool ProcessDevice::lose_link() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock && change_link(false);
}

void ProcessDevice::tell_of_link() const {
  show_host();
  tell_contexts(nic_->has_link() ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

void ProcessDevice::tell_contexts(ibv_event_type event) const {
  for (Context* const context : contexts_) context->async_events().push_port(event);
}

void ProcessDevice::let_others_set_parameters() {
  const NicEnvironment& settings = environment_;
  if (parameters_ != nullptr || settings.paths_folder.empty()) return;
  const std::string folder = device_folder(settings);
  nic::Device& device = *nic_;
  auto started = nic::ParameterWatch::start({.device = settings.device.name,
                                             .in_force = [&device] { return device.congestion(); },
                                             .update =
                                                 [&device](const nic::CongestionSettings& updated) {
                                                   static_cast<void>(device.update_congestion(updated));
                                                 },
                                             .report = report},
                                            folder);
  if (started) {
    parameters_ = std::move(started.value());
  } else if (settings.verbose) {
    report(started.error());
  }
}

void ProcessDevice::follow_the_host() {
  const NicEnvironment& settings = environment_;
  if (addresses_ != nullptr || settings.port.kind != nic::PortSpec::Kind::kHost) return;
  auto started = nic::AddressWatch::start([this](const nic::HostInterfaces& host) { return on_host(host); });
  if (started) {
    addresses_ = std::move(started.value());
  } else if (settings.verbose) {
    report(started.error());
  }
}

/// On the watch's thread, which this object ends under the mutex: so it does not wait for that.
bool ProcessDevice::on_host(const nic::HostInterfaces& host) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  nic::Device& device = *nic_;
  const bool has_carrier = nic::has_carrier(host, environment_.host.interface);
  had_carrier_ = had_carrier_ || has_carrier;
  // A host that began without one has its own programs as peers.
  const bool has_link = has_carrier || !had_carrier_;
  const auto addresses = environment_.port.is_each ? nic::addresses_on(host, environment_.host.interface)
                                                   : nic::addresses_there(host);
  const bool had_link = device.has_link();
  // Programs of the host could still reach the one interface of the device, and do not on a card.
  if (environment_.port.is_each) static_cast<void>(device.set_link(has_link));
  if (device.update_host(addresses, has_link)) {
    show_host();
    tell_contexts(IBV_EVENT_GID_CHANGE);
  }
  if (device.has_link() != had_link) tell_of_link();
  return true;
}

/// Where files show the device's addresses.
void ProcessDevice::show_host() const {
  const NicEnvironment& settings = environment_;
  if (settings.paths_folder.empty()) return;
  const std::filesystem::path folder = device_folder(settings);
  // In the place of the old file, which has no mode for writing.
  const auto write = [&](const std::string& name, const std::string& text) {
    std::error_code code;
    const std::filesystem::path file = folder / name;
    const std::filesystem::path parent = file.parent_path();
    const std::filesystem::path made = parent / ("." + std::to_string(getpid()));
    std::filesystem::create_directories(parent, code);
    std::ofstream(made) << text << '\n';
    std::filesystem::permissions(made, std::filesystem::perms{0444}, code);
    std::filesystem::rename(made, file, code);
  };
  const nic::GidTable& gids = nic_->gids();
  for (std::size_t index = 0; index < gids.size(); ++index) {
    if (gids.at(index)) continue;
    std::error_code code;
    for (const char* const attribute : {"types", "ndevs"}) {
      std::filesystem::remove(folder / "ports/1/gid_attrs" / attribute / std::to_string(index), code);
    }
  }
  for (const std::string& name : sysfs_names(gids, nic_->config())) {
    if (name.starts_with("ports/1/gid")) write(name, *sysfs_text(gids, nic_->config(), name));
  }
  write("ports/1/state", nic_->has_link() ? "4: ACTIVE" : "1: DOWN");
  write("ports/1/phys_state", nic_->has_link() ? "5: LinkUp" : "3: Disabled");
}

void ProcessDevice::linger() {
  addresses_.reset();
  status_.reset();
  parameters_.reset();
  nic_->linger();
  write_counters();
  printer_.reset();
}

void ProcessDevice::leave() {
  status_.reset();
  write_counters();
}

bool ProcessDevice::abandon_in_child(std::unique_ptr<ProcessDevice> device) {
  for (Context* const context : device->contexts_) context->die(Context::Death::kFork);
  const bool may_open_again = !device->nic_->has_begun() || may_open_port_after_fork(device->environment_);
  device->nic_->abandon_after_fork();
  nic::StatusServer::abandon_after_fork(std::move(device->status_));
  nic::ParameterWatch::abandon_after_fork(std::move(device->parameters_));
  nic::AddressWatch::abandon_after_fork(std::move(device->addresses_));
  nic::ReportPrinter::abandon_after_fork(std::move(device->printer_));
  // Its threads exist in the parent only, and its locks may be held by them: there is no taking it apart.
  static_cast<void>(device.release());
  return may_open_again;
}

}  // namespace urnic::verbs_api
