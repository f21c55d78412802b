// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AddressWatch: tells when the host's addresses or the state of its interfaces change.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "nic/host/interfaces.h"
#include "nic/process/descriptor.h"
#include "transport/result.h"

namespace urnic::nic {

/// One thread, with all signals blocked, sleeps until the kernel says that an address or an interface of this
/// process's network namespace has changed (rtnetlink(7)).
class AddressWatch {
 public:
  /// From news to the look at it: an interface that comes up is a dozen of them.
  static constexpr int kPauseMs = 20;

  /// What there is now, on the watch's thread: once when it starts, and after each change. False: the owner
  /// cannot look now, and is told again after a pause.
  using Owner = std::function<bool(const HostInterfaces&)>;

  /// The error says why the kernel does not tell of changes.
  static Result<std::unique_ptr<AddressWatch>, Error> start(Owner owner);
  /// Ends the thread; waits while it is in the owner's function.
  ~AddressWatch();
  AddressWatch(const AddressWatch&) = delete;
  AddressWatch& operator=(const AddressWatch&) = delete;

  /// In the child of a fork, which has no such thread: gives up `watch` for lost.
  static void abandon_after_fork(std::unique_ptr<AddressWatch> watch) { static_cast<void>(watch.release()); }

 private:
  explicit AddressWatch(Owner owner) : owner_(std::move(owner)) {}

  Result<void, Error> open();
  Result<void, Error> start_thread();
  void run();
  void drain() const;
  bool look();

  Owner owner_;
  Descriptor news_;  // a netlink socket
  Descriptor stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace urnic::nic
