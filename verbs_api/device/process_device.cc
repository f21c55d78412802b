#include "verbs_api/device/process_device.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "nic/device/device_snapshot.h"
#include "nic/diagnostics/snapshot_json.h"
#include "nic/host/host_addresses.h"
#include "nic/process/descriptor.h"
#include "nic/process/own_thread.h"
#include "verbs_api/config/port_opener.h"
#include "verbs_api/config/sysfs_text.h"
#include "verbs_api/device/async_events.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/event_delivery.h"
#include "verbs_api/device/failure.h"

namespace urnic::verbs_api {

ProcessDevice& ProcessDevice::instance() {
  // Never destroyed: verbs may be called by whatever runs last in the process.
  static ProcessDevice* const instance = new ProcessDevice;
  return *instance;
}

ProcessDevice::ProcessDevice() {
  pthread_atfork(
      [] {
        instance().mutex_.lock();
        instance().objects_.mutex().lock();
        instance().call_faults_.mutex().lock();
        for (PartOfProcess* const part : instance().parts_) part->mutex().lock();
        nic::own_processors_mutex().lock();
        nic::OwnDescriptors::lock();
      },
      [] {
        nic::OwnDescriptors::unlock();
        nic::own_processors_mutex().unlock();
        for (PartOfProcess* const part : instance().parts_) part->mutex().unlock();
        instance().call_faults_.mutex().unlock();
        instance().objects_.mutex().unlock();
        instance().mutex_.unlock();
      },
      [] {
        nic::OwnDescriptors::close_in_child();
        nic::OwnDescriptors::unlock();
        nic::own_processors_mutex().unlock();
        for (PartOfProcess* const part : instance().parts_) {
          part->abandon_in_child();
          part->mutex().unlock();
        }
        instance().call_faults_.abandon_in_child();
        instance().call_faults_.mutex().unlock();
        instance().objects_.mutex().unlock();
        instance().abandon_in_child();
        instance().mutex_.unlock();
      });
}

ObjectRegistry& objects() {
  return ProcessDevice::instance().objects();
}

CallFaults& call_faults() {
  return ProcessDevice::instance().call_faults();
}

Result<nic::Device*, Error> ProcessDevice::get() {
  const std::lock_guard lock(mutex_);
  if (lost_by_fork_) {
    return Error{
        .code = EIO,
        .message =
            "this process was forked from one that had its port open, and DPDK cannot be started again in "
            "it; open the device after the fork, or use --port host, where a child has a NIC of its own"};
  }
  if (made_ == nullptr) {
    auto made = make();
    if (!made) return made.error();
    made_ = std::move(made).value();
    call_faults_.use(made_->environment.faults);
  }
  return made_->device.get();
}

Result<std::unique_ptr<ProcessDevice::Made>, Error> ProcessDevice::make() {
  auto environment = read_environment();
  if (!environment) return environment.error();
  auto made = std::make_unique<Made>();
  made->environment = std::move(environment).value();
  const NicEnvironment& settings = made->environment;
  if (!settings.processors.empty()) {
    const auto chosen = nic::choose_own_processors(settings.processors);
    if (!chosen) return Error{.code = EINVAL, .message = "URNIC_CPUS: " + chosen.error().message};
  }
  made->device = std::make_unique<nic::Device>(settings.device, made->clock,
                                               [&settings] { return open_port(settings); });
  made->device->set_event_handlers({.on_qp = deliver_qp_event,
                                    .on_wq_fatal = deliver_wq_fatal,
                                    .on_srq_limit = deliver_srq_limit,
                                    .on_cq_overrun = deliver_cq_overrun});
  if (nic::FailureLog* const failures = made->device->failures()) {
    auto printer = nic::ReportPrinter::start(*failures, STDERR_FILENO);
    if (!printer) return printer.error();
    made->printer = std::move(printer.value());
  }
  return made;
}

XrcDomains& ProcessDevice::xrc_domains() {
  const std::lock_guard lock(mutex_);
  return made_->xrc_domains;
}

XrcTargets& ProcessDevice::xrc_targets() {
  const std::lock_guard lock(mutex_);
  return made_->xrc_targets;
}

bool ProcessDevice::tells_of_errors() const {
  const std::lock_guard lock(mutex_);
  return made_ != nullptr && (made_->environment.verbose || made_->environment.device.explain);
}

std::optional<ProcessDevice::Importable> ProcessDevice::find(const DescriptorIdentity& identity) const {
  const std::lock_guard lock(mutex_);
  for (Context* const open : contexts_) {
    if (open->file()->identity() == identity) {
      return Importable{.device = *open->context.device, .nic = open->nic(), .file = open->file()};
    }
  }
  return std::nullopt;
}

void ProcessDevice::add(Context& context) {
  const std::lock_guard lock(mutex_);
  contexts_.insert(&context);
  if (const auto started = call_faults_.start_clock(); !started) report(started.error());
  let_others_watch();
  let_others_set_parameters();
  follow_the_host();
}

void ProcessDevice::watch() {
  const std::lock_guard lock(mutex_);
  let_others_watch();
  let_others_set_parameters();
  follow_the_host();
}

// The program has its NIC even if no other program can ask what it does.
void ProcessDevice::let_others_watch() {
  if (made_->status != nullptr) return;
  nic::Device& device = *made_->device;
  auto started = nic::StatusServer::start([&device] { return nic::to_json(nic::take_snapshot(device)); });
  if (started) {
    made_->status = std::move(started.value());
  } else if (made_->environment.verbose) {
    report(started.error());
  }
}

void ProcessDevice::let_others_set_parameters() {
  const NicEnvironment& settings = made_->environment;
  if (made_->parameters != nullptr || settings.paths_folder.empty()) return;
  const std::string folder = settings.paths_folder + "/sys/class/infiniband/" + settings.device.name;
  nic::Device& device = *made_->device;
  auto started = nic::ParameterWatch::start({.device = settings.device.name,
                                             .in_force = [&device] { return device.congestion(); },
                                             .update =
                                                 [&device](const nic::CongestionSettings& updated) {
                                                   static_cast<void>(device.update_congestion(updated));
                                                 },
                                             .report = report},
                                            folder);
  if (started) {
    made_->parameters = std::move(started.value());
  } else if (settings.verbose) {
    report(started.error());
  }
}

void ProcessDevice::follow_the_host() {
  const NicEnvironment& settings = made_->environment;
  if (made_->addresses != nullptr || settings.port.kind != nic::PortSpec::Kind::kHost) return;
  auto started = nic::AddressWatch::start([this](const nic::HostInterfaces& host) { return on_host(host); });
  if (started) {
    made_->addresses = std::move(started.value());
  } else if (settings.verbose) {
    report(started.error());
  }
}

/// On the watch's thread, which this object ends under the mutex: so it does not wait for that.
bool ProcessDevice::on_host(const nic::HostInterfaces& host) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (made_ == nullptr) return true;
  nic::Device& device = *made_->device;
  const bool has_carrier = nic::has_carrier(host, made_->environment.host.interface);
  made_->had_carrier = made_->had_carrier || has_carrier;
  // A host that began without one has its own programs as peers.
  const bool has_link = has_carrier || !made_->had_carrier;
  const auto change = device.update_host(nic::addresses_there(host), has_link);
  if (!change.gids && !change.link) return true;
  show_host();
  for (Context* const context : contexts_) {
    AsyncEvents& events = context->async_events();
    if (change.gids) events.push_port(IBV_EVENT_GID_CHANGE);
    if (change.link) events.push_port(device.has_link() ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
  }
  return true;
}

/// Where files show the device's addresses.
void ProcessDevice::show_host() const {
  const NicEnvironment& settings = made_->environment;
  if (settings.paths_folder.empty()) return;
  const std::filesystem::path folder =
      std::filesystem::path(settings.paths_folder) / "sys/class/infiniband" / settings.device.name;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::error_code code;
    std::filesystem::create_directories((folder / name).parent_path(), code);
    std::ofstream(folder / name) << text << '\n';
  };
  const nic::GidTable& gids = made_->device->gids();
  for (const std::string& name : sysfs_names(gids)) {
    if (name.starts_with("ports/1/gid")) write(name, *sysfs_text(gids, name));
  }
  write("ports/1/state", made_->device->has_link() ? "4: ACTIVE" : "1: DOWN");
  write("ports/1/phys_state", made_->device->has_link() ? "5: LinkUp" : "3: Disabled");
}

void ProcessDevice::tell_all(ibv_event_type event) {
  const std::lock_guard lock(mutex_);
  for (Context* const context : contexts_) context->async_events().push_port(event);
}

void ProcessDevice::hold_port_down(bool is_held) {
  const std::lock_guard lock(mutex_);
  if (made_ == nullptr) return;
  made_->device->hold_link_down(is_held);
  show_host();
  const ibv_event_type event = is_held ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE;
  for (Context* const context : contexts_) context->async_events().push_port(event);
}

void ProcessDevice::add(PartOfProcess& part) {
  const std::lock_guard lock(mutex_);
  parts_.push_back(&part);
}

void ProcessDevice::remove(Context& context) {
  const std::lock_guard lock(mutex_);
  contexts_.erase(&context);
}

void ProcessDevice::keep(Context& context) {
  const std::lock_guard lock(mutex_);
  kept_.insert(&context);
}

void ProcessDevice::abandon_in_child() {
  if (made_ == nullptr) return;
  for (Context* const context : contexts_) context->die(Context::Death::kFork);
  contexts_.clear();
  lost_by_fork_ =
      lost_by_fork_ || (made_->device->has_begun() && !may_open_port_after_fork(made_->environment));
  made_->device->abandon_after_fork();
  nic::StatusServer::abandon_after_fork(std::move(made_->status));
  nic::ParameterWatch::abandon_after_fork(std::move(made_->parameters));
  nic::AddressWatch::abandon_after_fork(std::move(made_->addresses));
  nic::ReportPrinter::abandon_after_fork(std::move(made_->printer));
  // Its threads exist in the parent only, and its locks may be held by them: there is no taking it apart.
  static_cast<void>(made_.release());
}

void ProcessDevice::on_exit() {
  // Without the lock, which an event that is being raised may wait for.
  for (const std::string& line : call_faults_.end()) report({.message = line});
  std::unique_ptr<Made> unused;
  const std::lock_guard lock(mutex_);
  if (made_ == nullptr) return;
  const bool is_unused =
      std::all_of(parts_.begin(), parts_.end(), [](const PartOfProcess* part) { return part->is_empty(); });
  if (contexts_.empty() && is_unused) {
    unused = std::move(made_);
  } else {
    made_->addresses.reset();
    made_->status.reset();
    made_->parameters.reset();
    made_->device->linger();
    made_->printer.reset();
  }
}

namespace {

// After the destructors of the program and of all libraries that use this one, unlike atexit().
[[gnu::destructor]] void leave() {
  ProcessDevice::instance().on_exit();
}

}  // namespace
}  // namespace urnic::verbs_api
