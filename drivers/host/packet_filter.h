// The program that tells the kernel which process a RoCEv2 packet is for.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace urnic::drivers {

/// A classic BPF program for a group of so many UDP sockets (SO_ATTACH_REUSEPORT_CBPF), 1 to 256. It returns the index
/// of the socket, always below `sockets`: beyond that the kernel would choose by a hash.
///
/// The highest 8 bits of a number say whose it is: of the destination queue pair, and in what the connection manager
/// sends to queue pair 1, of the communication id that the receiver has given. Socket 0 gets the rest: connection
/// requests, which have no such id yet, numbers for which there is no socket, and what is too short.
std::vector<sock_filter> make_packet_filter(unsigned sockets);

}  // namespace urnic::drivers
