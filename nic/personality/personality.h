// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Personality: how a NIC behaves where NICs differ and programs can see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace urnic::nic {

/// The first value of each is what urnic does by default.

/// What a queue has room for that was made for N work requests.
enum class GrantedRoom : std::uint8_t {
  kPowerOfTwo,   ///< the next power of two
  kMlx5,         ///< what fits in a power of two of bytes
  kIrdma,        ///< what fits in a power of two of quanta, with some in reserve
  kAsRequested,  ///< nothing more
};

/// When the room of a work request can be used again.
enum class RoomReturn : std::uint8_t {
  kWhenDone,    ///< when the NIC is done with it
  kWhenPolled,  ///< when the program has polled its completion, or a later one of the same queue
};

/// What a post returns that is not possible.
enum class PostError : std::uint8_t { kInvalid, kNoMemory };

/// What happens to a request that is posted to a queue pair too early: a send before RTS, a receive before
/// INIT.
enum class EarlyPost : std::uint8_t { kRefused, kTakenAndLost };

/// Which addresses an atomic operation may be posted for.
enum class AtomicAddress : std::uint8_t { kAny, kAligned };

/// What stands in the members of an ibv_wc that mean nothing in a completion.
enum class UndefinedFields : std::uint8_t {
  kFilled,     ///< what is known of the request, else 0
  kUntouched,  ///< what stood there before the poll
  kZero,
  kOwnNumber,  ///< as kFilled; but the number of the queue pair itself is in src_qp
};

/// What vendor_err says.
enum class VendorErrors : std::uint8_t { kZero, kMlx5, kIrdma };

/// Which completions of messages with immediate data have IBV_WC_WITH_IMM.
enum class ImmediateFlag : std::uint8_t { kReceives, kBothEnds };

/// Which completions of successful receives have IBV_WC_GRH.
enum class GrhFlag : std::uint8_t { kDatagrams, kEvery };

/// What happens to the completions of a queue pair that the program has not polled when it destroys it.
enum class UnpolledCompletions : std::uint8_t { kRemoved, kStay };

/// Which request's completion tells why a send failed.
enum class NamedFailure : std::uint8_t {
  kFailed,             ///< the one that failed
  kOldestOutstanding,  ///< the oldest without a completion; all others are flushed
};

/// When a requester sends again what is not acknowledged, and when it gives up.
enum class AckTimers : std::uint8_t { kNominal, kConnectX5, kConnectX6 };

/// What retry_cnt 7 means.
enum class SevenRetries : std::uint8_t { kSeven, kEndless };

/// What a responder says to a SEND that is longer than the receive.
enum class LongSend : std::uint8_t {
  kInvalidRequest,    ///< the receive ends with LOC_LEN_ERR
  kOperationalError,  ///< the receive ends with LOC_QP_OP_ERR
};

/// What is written by a WRITE that runs over the end of a region.
enum class LongWrite : std::uint8_t { kNothing, kWholePackets };

/// Which entries the GID table has for each address, and at which indices (nic/path/gid_table.h).
enum class GidEntries : std::uint8_t {
  kRoceV2,     ///< one of RoCE v2 for each
  kPairs,      ///< one of RoCE v1, and then one of RoCE v2
  kScattered,  ///< one of RoCE v2, where no other NIC has it
};

/// Which counters hw_counters/ and RDMA netlink show, and under which names. The lists are in
/// nic/diagnostics/kernel_counters.h.
enum class CounterNames : std::uint8_t {
  kOwn,  ///< rdma_rxe's, mlx5's and EFA's
  kMlx5,
  kIrdma,
  kRxe,
  kNone,
};

/// Which files a driver adds to those that Linux makes for each device.
enum class DriverFiles : std::uint8_t {
  kMlx5,  ///< counters/, board_id, hca_type, hw_rev, and the parameters of congestion control
  kNone,
  kRxe,  ///< parent
};

/// Whether the device has something.
enum class Offer : std::uint8_t { kYes, kNo };

struct Personality {
  GrantedRoom granted_room{};
  RoomReturn send_room{};
  RoomReturn receive_room{};

  PostError too_many_send_sges{};
  PostError inline_too_long{};
  EarlyPost early_post{};
  EarlyPost early_receive{};
  AtomicAddress atomic_address{};
  Offer atomics{};
  Offer shared_receive_queues{};
  Offer xrc{};
  Offer unreliable_connections{};
  Offer on_demand_paging{};
  Offer completion_times{};

  UndefinedFields failed_completion{};
  UndefinedFields successful_send{};
  VendorErrors vendor_errors{};
  GrhFlag grh_flag{};
  ImmediateFlag immediate_flag{};
  UnpolledCompletions unpolled_completions{};
  NamedFailure named_failure{};

  AckTimers ack_timers{};
  SevenRetries seven_retries{};
  LongSend long_send{};
  LongWrite long_write{};
  std::uint64_t silence_after_deregistration = 0;  ///< us

  GidEntries gid_entries{};

  CounterNames counter_names{};
  DriverFiles driver_files{};

  // Device attributes, by the names of ibv_device_attr, and of ibv_port_attr at the end.
  std::uint64_t max_mr_size = 0;
  std::uint64_t page_size_cap = 0;
  std::uint64_t max_qp = 0;
  std::uint64_t max_qp_wr = 0;
  std::uint64_t max_sge = 0;
  std::uint64_t max_sge_rd = 0;
  std::uint64_t max_inline_data = 0;
  std::uint64_t max_cq = 0;
  std::uint64_t max_cqe = 0;
  std::uint64_t max_mr = 0;
  std::uint64_t max_pd = 0;
  std::uint64_t max_qp_rd_atom = 0;
  std::uint64_t max_qp_init_rd_atom = 0;
  std::uint64_t max_res_rd_atom = 0;
  std::uint64_t max_mw = 0;
  std::uint64_t max_mcast_grp = 0;
  std::uint64_t max_mcast_qp_attach = 0;
  std::uint64_t max_ah = 0;
  std::uint64_t max_srq = 0;
  std::uint64_t max_srq_wr = 0;
  std::uint64_t max_srq_sge = 0;
  std::uint64_t max_pkeys = 0;
  std::uint64_t local_ca_ack_delay = 0;
  std::uint64_t max_dm_size = 0;
  std::uint64_t max_cq_count = 0;
  std::uint64_t max_cq_period = 0;
  std::uint64_t max_msg_sz = 0;
  std::uint64_t gid_tbl_len = 0;
  std::uint64_t lid = 0;
};

/// Whom urnic can be like: the columns of the table.
enum class Column : std::uint8_t { kDefault, kConnectX5, kConnectX6, kE810, kRxe, kStrict };
inline constexpr std::size_t kColumnCount = 6;

/// As in `urnic run --like NAME`.
std::string_view name_of(Column column);

/// What the table says. Lives as long as the program.
const Personality& personality_of(Column column);

}  // namespace urnic::nic
