// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Rows of numbers: what a device says that it can do, by the names of ibv_device_attr, and what it refuses.
#include <limits>

#include "nic/personality/cells.h"
#include "nic/personality/device_limits.h"

namespace urnic::nic {
namespace {

using namespace table;
using P = Personality;

/// More than by default, because programs count on what they read here.
constexpr std::uint64_t kMostWorkRequests = 32768;
constexpr std::uint64_t kEveryByte = std::numeric_limits<std::uint64_t>::max();
constexpr std::string_view kLibfabric =
    "probed on an older mlx5 NIC by libfabric, less what rdma-core needs today";
constexpr std::string_view kPerftest = "perftest users: 220 bytes fail; the limit stands in the Linux driver";

// Default, ConnectX-5, ConnectX-6, E810, rxe, strict.
constexpr Row kNumberRows[] = {
    row<&P::max_mr_size>(
        "max_mr_size", "bytes of a memory region",
        {own(kEveryByte), measured(kEveryByte, kPrint5), measured(kEveryByte, kPrint6),
         measured(0x200000000000u, kPrintE810), read_in(kEveryByte, kRxeDriver), smallest()}),
    row<&P::page_size_cap>("page_size_cap", "sizes of pages, as bits",
                           {own(~std::uint64_t{4095}), measured(~std::uint64_t{4095}, kPrint5),
                            measured(~std::uint64_t{4095}, kPrint6), read_in(0x40201000u, kIrdmaDriver),
                            read_in(0xfffff000u, kRxeDriver), as(Column::kE810)}),
    row<&P::max_qp>("max_qp", "queue pairs",
                    {own(DeviceLimits::kMaxQueuePairs), measured(262144, kPrint5), measured(131072, kPrint6),
                     measured(4092, kPrintE810), read_in(1048576, kRxeDriver), smallest()},
                    DeviceLimits::kMaxQueuePairs),
    row<&P::max_qp_wr>(
        "max_qp_wr", "work requests of a queue",
        {own(DeviceLimits::kMaxWorkRequests), measured(32768, kPrint5), measured(32768, kPrint6),
         measured(8127, kPrintE810), read_in(1048576, kRxeDriver), smallest()},
        kMostWorkRequests),
    row<&P::max_sge>("max_sge", "scatter/gather elements of a work request",
                     {own(DeviceLimits::kMaxSges), measured(30, kPrint5), measured(30, kPrint6),
                      read_in(13, kIrdmaVerbs), read_in(32, kRxeDriver), measured(6, kPrintE810)},
                     DeviceLimits::kMaxSges),
    row<&P::max_sge_rd>("max_sge_rd", "scatter/gather elements of a READ",
                        {own(DeviceLimits::kMaxSges), measured(30, kPrint5), measured(30, kPrint6),
                         read_in(13, kIrdmaVerbs), read_in(32, kRxeDriver), measured(6, kPrintE810)},
                        DeviceLimits::kMaxSges),
    row<&P::max_inline_data>(
        "max_inline_data", "bytes of inline data that can be requested",
        {own(DeviceLimits::kMaxInlineBytes), reported(828, kLibfabric), reported(828, kLibfabric),
         reported(101, kPerftest), read_in(512, kRxeDriver), smallest()},
        DeviceLimits::kMaxInlineBytes),
    row<&P::max_cq>(
        "max_cq", "completion queues",
        {own(DeviceLimits::kMaxCompletionQueues), measured(16777216, kPrint5), measured(16777216, kPrint6),
         measured(8189, kPrintE810), read_in(1048576, kRxeDriver), smallest()},
        DeviceLimits::kMaxCompletionQueues),
    row<&P::max_cqe>(
        "max_cqe", "entries of a completion queue",
        {own(DeviceLimits::kMaxCompletions), measured(4194303, kPrint5), measured(4194303, kPrint6),
         measured(1048574, kPrintE810), read_in(32767, kRxeDriver), smallest()},
        DeviceLimits::kMaxCompletions),
    row<&P::max_mr>(
        "max_mr", "memory regions",
        {own(DeviceLimits::kMaxMemoryRegions), measured(16777216, kPrint5), measured(16777216, kPrint6),
         measured(4194301, kPrintE810), read_in(1048576, kRxeDriver), smallest()},
        DeviceLimits::kMaxMemoryRegions),
    row<&P::max_pd>(
        "max_pd", "protection domains",
        {own(DeviceLimits::kMaxProtectionDomains), measured(16777216, kPrint5), measured(8388608, kPrint6),
         measured(262141, kPrintE810), read_in(1048576, kRxeDriver), smallest()},
        DeviceLimits::kMaxProtectionDomains),
    row<&P::max_qp_rd_atom>(
        "max_qp_rd_atom", "READs and atomics that a peer may have outstanding",
        {own(DeviceLimits::kMaxReadsInFlight), measured(16, kPrint5), measured(16, kPrint6),
         read_in(127, kIrdmaDriver), read_in(128, kRxeDriver), measured(8, kPrintE810)},
        DeviceLimits::kMaxReadsInFlight),
    row<&P::max_qp_init_rd_atom>(
        "max_qp_init_rd_atom", "READs and atomics that a queue pair may have outstanding",
        {own(DeviceLimits::kMaxReadsInFlight), measured(16, kPrint5), measured(16, kPrint6),
         read_in(255, kIrdmaDriver), read_in(128, kRxeDriver), measured(8, kPrintE810)},
        DeviceLimits::kMaxReadsInFlight),
    row<&P::max_res_rd_atom>(
        "max_res_rd_atom", "READs and atomics of all peers together",
        {own(DeviceLimits::kMaxReadsInFlight * DeviceLimits::kMaxQueuePairs), measured(4194304, kPrint5),
         measured(2097152, kPrint6), measured(0, kPrintE810), read_in(0x3f000, kRxeDriver), smallest()}),
    row<&P::max_mw>(
        "max_mw", "memory windows",
        {own(DeviceLimits::kMaxMemoryRegions), measured(16777216, kPrint5), measured(16777216, kPrint6),
         read_in(4194301, kIrdmaDriver), read_in(1048576, kRxeDriver), smallest()},
        DeviceLimits::kMaxMemoryRegions),
    row<&P::max_mcast_grp>(
        "max_mcast_grp", "multicast groups",
        {own(DeviceLimits::kMaxGroupMembers), measured(2097152, kPrint5), measured(2097152, kPrint6),
         measured(4096, kPrintE810), read_in(8192, kRxeDriver), smallest()},
        DeviceLimits::kMaxGroupMembers),
    row<&P::max_mcast_qp_attach>(
        "max_mcast_qp_attach", "members of a multicast group",
        {own(DeviceLimits::kMaxGroupMembers), measured(240, kPrint5), measured(240, kPrint6),
         measured(8, kPrintE810), read_in(56, kRxeDriver), smallest()},
        DeviceLimits::kMaxGroupMembers),
    row<&P::max_ah>(
        "max_ah", "address handles",
        {own(DeviceLimits::kMaxAddressHandles), measured(2147483647, kPrint5), measured(2147483647, kPrint6),
         measured(131072, kPrintE810), read_in(1048576, kRxeDriver), smallest()},
        DeviceLimits::kMaxAddressHandles),
    row<&P::max_srq>(
        "max_srq", "shared receive queues",
        {own(DeviceLimits::kMaxSharedReceiveQueues), measured(8388608, kPrint5), measured(8388608, kPrint6),
         measured(0, kPrintE810), read_in(1048576, kRxeDriver), smallest()},
        DeviceLimits::kMaxSharedReceiveQueues),
    row<&P::max_srq_wr>(
        "max_srq_wr", "receives of a shared receive queue",
        {own(DeviceLimits::kMaxWorkRequests), measured(32767, kPrint5), measured(32767, kPrint6),
         measured(0, kPrintE810), read_in(1048576, kRxeDriver), smallest()},
        kMostWorkRequests),
    row<&P::max_srq_sge>("max_srq_sge", "elements of a shared receive",
                         {own(DeviceLimits::kMaxSges), measured(31, kPrint5), measured(31, kPrint6),
                          measured(0, kPrintE810), read_in(27, kRxeDriver), smallest()},
                         DeviceLimits::kMaxSges),
    row<&P::max_pkeys>("max_pkeys", "P_Keys",
                       {own(1), measured(128, kPrint5), measured(128, kPrint6), read_in(1, kIrdmaDriver),
                        read_in(64, kRxeDriver), smallest()}),
    row<&P::local_ca_ack_delay>(
        "local_ca_ack_delay", "the code of the longest delay of an answer",
        {own(DeviceLimits::kAckDelayCode), measured(16, kPrint5), measured(16, kPrint6),
         read_in(0, kIrdmaDriver), read_in(15, kRxeDriver), as(Column::kConnectX6)}),
    row<&P::max_dm_size>("max_dm_size", "bytes of device memory",
                         {own(1u << 20), measured(131072, kPrint5), measured(131072, kPrint6),
                          read_in(0, kIrdmaDriver), read_in(0, kRxeDriver), smallest()},
                         1u << 20),
    row<&P::max_cq_count>("max_cq_count", "completions that an event can wait for, as ibv_modify_cq sets it",
                          {own(DeviceLimits::kMaxModeratedCompletions), measured(65535, kPrint5),
                           measured(65535, kPrint6), unknown(), read_in(0, kRxeDriver), smallest()},
                          DeviceLimits::kMaxModeratedCompletions),
    row<&P::max_cq_period>("max_cq_period", "microseconds that an event can wait for completions",
                           {own(DeviceLimits::kMaxModerationPeriod), measured(4095, kPrint5),
                            measured(4095, kPrint6), unknown(), read_in(0, kRxeDriver), smallest()},
                           DeviceLimits::kMaxModerationPeriod),
    row<&P::max_msg_sz>("max_msg_sz", "bytes of a message, as the port says",
                        {own(1u << 31), measured(0x40000000u, kPrint5), measured(0x40000000u, kPrint6),
                         read_in(0x7fffffffu, kIrdmaDriver), read_in(0x800000u, kRxeDriver), smallest()},
                        1u << 31),
    row<&P::gid_tbl_len>("gid_tbl_len", "entries of the GID table",
                         {own(DeviceLimits::kGidEntries), measured(255, kPrint5), measured(255, kPrint6),
                          measured(32, kPrintE810), read_in(1024, kRxeDriver), smallest()},
                         DeviceLimits::kMaxGidEntries),
    row<&P::lid>("lid", "the port's LID",
                 {own(0), measured(0, kPrint5), measured(0, kPrint6), read_in(1, kIrdmaDriver),
                  read_in(0, kRxeDriver), as(Column::kE810)}),
};

}  // namespace

std::span<const Row> number_rows() {
  return kNumberRows;
}

}  // namespace urnic::nic
