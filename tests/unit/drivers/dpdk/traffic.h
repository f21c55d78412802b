// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Frames and the two roles that most tests of the DPDK ports play: one side pings, the other echoes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nic/host/port_spec.h"
#include "nic/port/packet_port.h"
#include "tests/unit/drivers/dpdk/process.h"

namespace urnic::drivers {

inline constexpr std::uint16_t kLinkMtu = 4200;
inline constexpr std::size_t kMaxFrame = kLinkMtu + 14;
inline constexpr std::size_t kMinFrame = 14;

nic::PortSpec front_of(const std::string& path);
nic::PortSpec back_of(const std::string& path);
nic::PortSpec interface_port(const std::string& name);

/// Opens a port or throws its error as std::runtime_error; for children, see caught().
std::unique_ptr<nic::PacketPort> open(const nic::PortSpec& spec, std::uint16_t link_mtu = kLinkMtu);
/// The error of an attempt to open, or nothing if it opened.
std::string error_of_opening(const nic::PortSpec& spec, std::uint16_t link_mtu = kLinkMtu);

/// `body` with exceptions turned into its result.
Process::Body caught(std::function<std::string(const Process::Parent&)> body);

/// A frame of `length` bytes that no other `seed` has.
std::vector<std::byte> make_frame(std::size_t length, std::uint32_t seed);

/// Commits one frame, waiting for room as long as it takes (at most a second), and flushes.
void send(nic::PacketPort& port, std::span<const std::byte> frame);
/// The next frame, polling; empty when none comes in time.
std::vector<std::byte> receive(nic::PacketPort& port, std::chrono::milliseconds patience);

/// What is wrong with how frames that `far` sends wake a sleeper at `near`, or nothing: each time, and by
/// nothing else.
std::string complaint_about_waking(nic::PacketPort& near, nic::PacketPort& far);

/// Opens the port, tells "open", and sends every frame back until it is killed. Its replies carry its process
/// id in bytes 4 to 7 if they are long enough and the frame asks for it (first byte kStampMe).
inline constexpr std::byte kStampMe{0xa5};
Process::Body echo(const nic::PortSpec& spec);
/// Pings until an answer comes; false if none does.
bool reach_peer(nic::PacketPort& port, std::chrono::milliseconds patience);

/// Sends frames of every length from `shortest` on and compares what comes back. `padded_to`: the medium's
/// minimum.
std::string exchange_all_lengths(nic::PacketPort& port, std::size_t shortest, std::size_t padded_to);

}  // namespace urnic::drivers
