// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ProcessDevices: the devices of this process.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "transport/result.h"
#include "verbs_api/abi/command_file.h"
#include "verbs_api/abi/descriptor_identity.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/abi/object_registry.h"
#include "verbs_api/adversary/process_adversary.h"
#include "verbs_api/device/part_of_process.h"
#include "verbs_api/device/process_device.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/sanitizer/sanitizer.h"

namespace urnic::verbs_api {

class Context;

/// libibverbs' functions are global, so this is: the only state of the process in the whole library. Any
/// thread.
///
/// A fork leaves the child without devices. What the parent had opened is dead there, every verb on it fails
/// with EIO, and its descriptors are closed, except those that the program knows. The child may start over
/// with devices of its own, unless a port of the parent's was open and may_open_port_after_fork() says no.
class ProcessDevices {
 public:
  static ProcessDevices& instance();
  ProcessDevices(const ProcessDevices&) = delete;
  ProcessDevices& operator=(const ProcessDevices&) = delete;

  /// The devices, one at least, by their numbers; the first call reads the environment and makes them. Starts
  /// nothing. They live until the process ends, or forks. The error is for the person.
  Result<std::span<const std::unique_ptr<ProcessDevice>>, Error> get();

  /// What the program has, of whatever context.
  ObjectRegistry& objects() { return objects_; }

  /// What the user wants to go wrong with calls; from get() on.
  CallFaults& call_faults() { return call_faults_; }
  /// What looks for mistakes of the program; from get() on, if the user wants it.
  Sanitizer& sanitizer() { return sanitizer_; }
  /// Tells every open context of an event of the device or its port.
  void tell_all(ibv_event_type event);
  /// Takes the links of all devices down, or up again. The error of the last one that cannot.
  Result<void, Error> change_links(bool is_up);

  /// From now on forks and the end of the process heed it. It is never destroyed.
  void add(PartOfProcess& part);

  /// Whether URNIC_VERBOSE or URNIC_EXPLAIN asks for the errors of calls in words.
  bool tells_of_errors() const;

  struct Importable {
    ibv_device& device;
    ProcessDevice& owner;
    std::shared_ptr<CommandFile> file;
  };
  /// The file with that identity, if any context of it is open.
  std::optional<Importable> find(const DescriptorIdentity& identity) const;

  /// ProcessDevice::watch() of all, which must have been made.
  void watch();

  /// Open contexts, so that others can find them.
  void add(Context& context);
  void remove(Context& context);
  /// Keeps a closed context of which the program still holds objects, until the process ends.
  void keep(Context& context);

  /// The program ends: closes the ports if everything was closed, otherwise lets the peers drain (design
  /// decision 11). What the program still holds keeps working, for threads and destructors that come later.
  void on_exit();
  /// After it: the exit code that the program gets that ends with `exit_code`.
  int exit_code(int exit_code);

 private:
  ProcessDevices();
  Result<std::vector<std::unique_ptr<ProcessDevice>>, Error> make();
  void abandon_in_child();

  // Held during a fork, so that the child finds a whole picture. Devices are never freed in a child.
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<ProcessDevice>> devices_;
  bool tells_of_errors_ = false;
  std::unordered_set<Context*> kept_;
  ObjectRegistry objects_;
  CallFaults call_faults_;
  Sanitizer sanitizer_;
  ProcessAdversary adversary_;
  std::vector<PartOfProcess*> parts_;
  bool lost_by_fork_ = false;
};

}  // namespace urnic::verbs_api
