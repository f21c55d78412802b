#include "verbs_api/device/process_device.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "nic/device_snapshot.h"
#include "nic/diagnostics/snapshot_json.h"
#include "verbs_api/config/port_opener.h"
#include "verbs_api/device/async_events.h"
#include "verbs_api/device/context.h"
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
        instance().rdma_cm_channels_.mutex().lock();
      },
      [] {
        instance().rdma_cm_channels_.mutex().unlock();
        instance().objects_.mutex().unlock();
        instance().mutex_.unlock();
      },
      [] {
        instance().rdma_cm_channels_.abandon_in_child();
        instance().rdma_cm_channels_.mutex().unlock();
        instance().objects_.mutex().unlock();
        instance().abandon_in_child();
        instance().mutex_.unlock();
      });
}

ObjectRegistry& objects() {
  return ProcessDevice::instance().objects();
}

Result<nic::Device*, Error> ProcessDevice::get() {
  const std::lock_guard lock(mutex_);
  if (lost_by_fork_) {
    return Error{
        .code = EIO,
        .message = "this process was forked from one that had its port open; open the device after the fork"};
  }
  if (made_ == nullptr) {
    auto made = make();
    if (!made) return made.error();
    made_ = std::move(made).value();
  }
  return made_->device.get();
}

Result<std::unique_ptr<ProcessDevice::Made>, Error> ProcessDevice::make() {
  auto environment = read_environment();
  if (!environment) return environment.error();
  auto made = std::make_unique<Made>();
  made->environment = std::move(environment).value();
  const NicEnvironment& settings = made->environment;
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
  let_others_watch();
  let_others_set_parameters();
}

void ProcessDevice::watch() {
  const std::lock_guard lock(mutex_);
  let_others_watch();
  let_others_set_parameters();
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
  lost_by_fork_ = lost_by_fork_ || made_->device->is_started();
  made_->device->abandon_after_fork();
  nic::StatusServer::abandon_after_fork(std::move(made_->status));
  nic::ParameterWatch::abandon_after_fork(std::move(made_->parameters));
  nic::ReportPrinter::abandon_after_fork(std::move(made_->printer));
  // Its threads exist in the parent only, and its locks may be held by them: there is no taking it apart.
  static_cast<void>(made_.release());
}

void ProcessDevice::on_exit() {
  std::unique_ptr<Made> unused;
  const std::lock_guard lock(mutex_);
  if (made_ == nullptr) return;
  if (contexts_.empty() && rdma_cm_channels_.is_empty()) {
    unused = std::move(made_);
  } else {
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
