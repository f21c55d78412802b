// ProcessDevice: the one device of this process, shared by every context that is opened on it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

#include "nic/clock.h"
#include "nic/congestion/parameter_watch.h"
#include "nic/device/device.h"
#include "nic/diagnostics/report_printer.h"
#include "nic/diagnostics/status_server.h"
#include "nic/host/address_watch.h"
#include "transport/result.h"
#include "verbs_api/abi/command_file.h"
#include "verbs_api/abi/descriptor_identity.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/abi/object_registry.h"
#include "verbs_api/config/environment.h"
#include "verbs_api/device/part_of_process.h"
#include "verbs_api/device/xrc_domains.h"
#include "verbs_api/device/xrc_targets.h"
#include "verbs_api/fault/call_faults.h"

namespace urnic::verbs_api {

class Context;

/// libibverbs' functions are global, so this is: the only state of the process in the whole library. All
/// contexts share the device, because two of them in one program expect to reach each other. Any thread.
///
/// A fork leaves the child without it. What the parent had opened is dead there, every verb on it fails with
/// EIO, and its descriptors are closed, except those that the program knows. The child may start over with a
/// device of its own, unless the parent's port was open and may_open_port_after_fork() says no.
class ProcessDevice {
 public:
  static ProcessDevice& instance();
  ProcessDevice(const ProcessDevice&) = delete;
  ProcessDevice& operator=(const ProcessDevice&) = delete;

  /// The device; the first call reads the environment and makes it. Starts nothing. The error is for the
  /// person.
  Result<nic::Device*, Error> get();

  /// What the program has, of whatever context.
  ObjectRegistry& objects() { return objects_; }

  /// What the user wants to go wrong with calls; from get() on.
  CallFaults& call_faults() { return call_faults_; }
  /// Tells every open context of an event of the device or its port.
  void tell_all(ibv_event_type event);
  /// The port is down from now on, or as the host has it, and every open context is told.
  void hold_port_down(bool is_held);

  /// From now on forks and the end of the process heed it. It is never destroyed.
  void add(PartOfProcess& part);

  /// The XRC domains of the device, which must have been made.
  XrcDomains& xrc_domains();
  /// And their targets.
  XrcTargets& xrc_targets();

  /// Whether URNIC_VERBOSE or URNIC_EXPLAIN asks for the errors of calls in words.
  bool tells_of_errors() const;

  struct Importable {
    ibv_device& device;
    nic::Device& nic;
    std::shared_ptr<CommandFile> file;
  };
  /// The file with that identity, if any context of it is open.
  std::optional<Importable> find(const DescriptorIdentity& identity) const;

  /// From now on other programs may ask what the device does, which must have been made, and change its
  /// parameters of congestion control. Called when the program opens something of it.
  void watch();

  /// Open contexts, so that others can find them.
  void add(Context& context);
  void remove(Context& context);
  /// Keeps a closed context of which the program still holds objects, until the process ends.
  void keep(Context& context);

  /// The program ends: closes the port if everything was closed, otherwise lets the peers drain (design
  /// decision 11). What the program still holds keeps working, for threads and destructors that come later.
  void on_exit();

 private:
  struct Made {
    NicEnvironment environment;
    nic::SteadyClock clock;
    std::unique_ptr<nic::Device> device;  // uses the two above
    XrcDomains xrc_domains;
    XrcTargets xrc_targets;
    std::unique_ptr<nic::ReportPrinter> printer;      // of the device's failures, if they are to be explained
    std::unique_ptr<nic::StatusServer> status;        // of the device; from the first open context on
    std::unique_ptr<nic::ParameterWatch> parameters;  // the same, where there are files of it
    bool had_carrier = false;                         // the first interface of the host, at some time
    std::unique_ptr<nic::AddressWatch> addresses;     // the same, where the NIC shares the host's
  };

  ProcessDevice();
  static Result<std::unique_ptr<Made>, Error> make();
  void abandon_in_child();
  void let_others_watch();
  void let_others_set_parameters();
  void follow_the_host();
  bool on_host(const nic::HostInterfaces& host);
  void show_host() const;
  // Held during a fork, so that the child finds a whole picture. Made is never freed in a child.
  mutable std::mutex mutex_;
  std::unique_ptr<Made> made_;
  std::unordered_set<Context*> contexts_;
  std::unordered_set<Context*> kept_;
  ObjectRegistry objects_;
  CallFaults call_faults_;
  std::vector<PartOfProcess*> parts_;
  bool lost_by_fork_ = false;
};

}  // namespace urnic::verbs_api
