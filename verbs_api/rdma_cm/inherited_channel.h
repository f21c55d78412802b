// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A channel that the child of a fork has from its parent, such as a server's that calls daemon() after
// rdma_listen().
#pragma once

#include <memory>

#include "verbs_api/rdma_cm/channel.h"

namespace urnic::verbs_api {

// In the kernel both processes have the channel. Here its ids are the parent's, as its NIC is, as long as the
// parent has the channel open. Once it has ended, or has closed the channel, the child makes a channel of its
// own under the same descriptor, with the ids that had no peer: from the first command that it writes on. The
// end of the parent hangs up the child's descriptor, which wakes a program that polls it.

/// The parent has the channel still, and the program wants to wait for an event.
inline constexpr int kParentHasChannel = -2;

/// Makes the channel this process's, or returns an errno value, or kParentHasChannel: only if
/// `asks_for_event`, otherwise it waits for the parent's end, until two seconds after the fork, and says EIO.
/// EIO, too, for an event where none can come: there is no id to be made again. Waits for the port to open.
int take_over(const std::shared_ptr<Channel>& inherited, bool asks_for_event);

/// Waits until the parent has ended, unless the descriptor has O_NONBLOCK (EAGAIN). 0, or what poll() says. A
/// cancellation point, with no object that has a destructor.
int wait_for_parent(int descriptor);

}  // namespace urnic::verbs_api
