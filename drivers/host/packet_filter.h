// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The program that tells the kernel which process a RoCEv2 packet is for.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace urnic::drivers {

/// A classic BPF program for a group of so many UDP sockets (SO_ATTACH_REUSEPORT_CBPF), 1 to 256. It returns
/// the index of the socket, always below `sockets`: beyond that the kernel would choose by a hash.
///
/// The highest 8 bits of the destination queue pair's number say whose it is. Socket 0, the switch's, gets
/// the rest: numbers for which there is no socket, what is too short, and all that connection managers send,
/// to queue pair 1. Of that only a part names the process that it is for. A process gets all of it from the
/// switch, in the order in which it came: on two ways, a request could arrive before the message that the
/// same peer sent before it.
std::vector<sock_filter> make_packet_filter(unsigned sockets);

}  // namespace urnic::drivers
