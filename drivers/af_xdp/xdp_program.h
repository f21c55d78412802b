// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// XdpProgram: what has the kernel give the frames of an interface to our socket.
#pragma once

#include <string>

#include "drivers/descriptor.h"
#include "drivers/interface/network_interface.h"
#include "transport/result.h"

namespace urnic::drivers {

/// A program of five instructions on one network interface, loaded by bpf(2). What the interface's first
/// receive queue receives goes to the socket, what others receive to the kernel as ever. It is held by a link
/// that belongs to this process alone: when the process ends, however it ends, the interface is as it was.
class XdpProgram {
 public:
  /// `socket` is an AF_XDP socket that is bound to the first queue. Needs CAP_NET_ADMIN and CAP_BPF (or root)
  /// outside of any user namespace. The program runs in the interface's driver if that supports it, else in
  /// the kernel after the driver.
  static Result<XdpProgram, Error> attach(const std::string& name, const NetworkInterface& interface,
                                          int socket);
  /// Whether this process may load such programs, and the kernel has them. The error says what is missing.
  static Result<void, Error> check(const std::string& name);

 private:
  XdpProgram(Descriptor map, Descriptor program, Descriptor link)
      : map_(std::move(map)), program_(std::move(program)), link_(std::move(link)) {}

  Descriptor map_;
  Descriptor program_;
  Descriptor link_;  // last: it is the first to go
};

}  // namespace urnic::drivers
