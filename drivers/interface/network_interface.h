// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a port has to know of a network interface of the host, and what it asks of it.
#pragma once

#include <string>

#include "drivers/descriptor.h"
#include "transport/result.h"

namespace urnic::drivers {

struct NetworkInterface {
  int index = 0;
  int mtu = 0;             ///< bytes of an IP packet
  int receive_queues = 1;  ///< among which the interface spreads what it receives, now
  bool is_up = false;
};

/// "network interface NAME: REASON", with an errno.
Error interface_error(int code, const std::string& interface, const std::string& reason);

/// The interface of this name in the network namespace of the process. The error is the system's: there is
/// none, or no interface can be called so.
Result<NetworkInterface, Error> find_interface(const std::string& name);

/// Has the interface hear frames for any MAC as long as the descriptor lives; nothing else about it changes.
/// Needs CAP_NET_RAW, and says that `port`, a kind of port, does.
Result<Descriptor, Error> hear_everything(const std::string& name, const NetworkInterface& interface,
                                          const char* port);

}  // namespace urnic::drivers
