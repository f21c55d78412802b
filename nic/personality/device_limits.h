// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DeviceLimits: what urnic itself can do at most.
#pragma once

#include <cstdint>

namespace urnic::nic {

/// A personality may have less.
struct DeviceLimits {
  static constexpr std::uint32_t kMaxQueuePairs = 16384;
  static constexpr std::uint32_t kMaxWorkRequests = 16384;
  static constexpr std::uint32_t kMaxSges = 32;
  static constexpr std::uint32_t kMaxInlineBytes = 1024;
  static constexpr std::uint32_t kMaxCompletionQueues = 16384;
  static constexpr std::uint32_t kMaxCompletions = 1u << 22;
  static constexpr std::uint16_t kMaxModeratedCompletions = 0xffff;
  static constexpr std::uint16_t kMaxModerationPeriod = 0xffff;  ///< us
  static constexpr std::uint32_t kMaxMemoryRegions = 1u << 18;
  static constexpr std::uint32_t kMaxProtectionDomains = 32768;
  static constexpr std::uint32_t kMaxAddressHandles = 32768;
  static constexpr std::uint32_t kMaxSharedReceiveQueues = 16384;
  static constexpr std::uint32_t kMaxGroupMembers = 8192;  ///< of all multicast groups together
  static constexpr std::uint32_t kMaxFlows = 4096;         ///< flow rules
  static constexpr std::uint32_t kMaxIndirectionTables = 4096;
  static constexpr std::uint32_t kMaxIndirectionTableSize = 2048;  ///< places for work queues
  static constexpr std::uint32_t kMaxReadsInFlight = 128;          ///< per QP, each way; as rdma_rxe has
  static constexpr std::uint32_t kGidEntries = 64;  ///< of the GID table, unless a personality says another
  static constexpr std::uint32_t kMaxGidEntries = 255;  ///< an address vector has 8 bits for the index
  /// An answer to a request takes at most 4.096 us * 2^12 (17 ms): a NIC thread asleep wakes within 1 ms, and
  /// a core that is shared may be away for a few more. Connection managers add it to their ACK timeouts.
  static constexpr std::uint8_t kAckDelayCode = 12;
};

}  // namespace urnic::nic
