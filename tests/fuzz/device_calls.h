// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program can ask of the device, as bytes of a device_fuzz input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/device_rig.h"

namespace urnic::test {

/// A call is four bytes: which, the queue pair, and two arguments, each of which means something modulo what
/// there is.
struct Call {
  enum class Kind : std::uint8_t {
    kSelect,       ///< steps for queue pair 3 mean this one from now on
    kPostSend,     ///< operation by the low four bits of the first argument; see device_calls.cc for the rest
    kPostReceive,  ///< length by the first argument
    kPostShared,   ///< to the shared queue of that number instead of a queue pair; length by the first
                   ///< argument
    kArmLimit,     ///< of that shared queue, to the first argument
    kModify,       ///< to the state of the first argument, without the attributes in the bits of the second
    kReconnect,
    kRenewQueuePair,
    kRenewSharedQueue,  ///< of that number
    kRenewWindow,       ///< type 1 or 2, by the first argument
    kRenewSecondKey,
    kRenewAddress,  ///< which, by the first argument
    kJoinGroup,
    kLeaveGroup,
    kPass,      ///< time, by the first argument
    kPortRoom,  ///< frames that the port takes: the first argument, or without end from 8 on
  };
  static constexpr std::size_t kKinds = 16;
  static constexpr std::size_t kBytes = 4;
  static constexpr std::size_t kMost = 64;
};

/// Makes the calls, kMost of them at the most, and lets the device work after each.
void make_calls(std::span<const std::byte> bytes, DeviceRig& rig);

}  // namespace urnic::test
