// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// KernelSocket: the kernel's RDMA netlink, where it has one.
#pragma once

#include <vector>

#include "tools/runtime/netlink/answerer.h"

namespace urnic::netlink {

class KernelSocket final : public Kernel {
 public:
  /// Whether the kernel has RDMA netlink, for this process. `code` is why not.
  static bool is_there(int& code);

  /// On a socket of its own. The kernel has answered by the time that it has taken a request, except a dump,
  /// which it goes on with as it is read: so nothing waits.
  std::vector<Bytes> ask(const Request& request, const Asker& asker) override;
};

}  // namespace urnic::netlink
