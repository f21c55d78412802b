// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Rows of behaviour: what programs see a NIC do.
#include "nic/personality/cells.h"

namespace urnic::nic {
namespace {

using namespace table;
using P = Personality;

/// The middle of what was measured: 1.0 to 2.2 ms.
constexpr std::uint64_t kSilence = 1600;

// Default, ConnectX-5, ConnectX-6, E810, rxe, strict.
constexpr Row kBehaviourRows[] = {
    // Queues.
    row<&P::granted_room>("granted-room", "a queue for N requests has room for",
                          {own(GrantedRoom::kPowerOfTwo), read_in(GrantedRoom::kMlx5, kMlx5Verbs),
                           read_in(GrantedRoom::kMlx5, kMlx5Verbs), read_in(GrantedRoom::kIrdma, kIrdmaUk),
                           unknown(), own(GrantedRoom::kAsRequested)}),
    row<&P::send_room>("send-room", "the room of a send comes back",
                       {own(RoomReturn::kWhenDone), read_in(RoomReturn::kWhenPolled, kMlx5Cq),
                        read_in(RoomReturn::kWhenPolled, kMlx5Cq), read_in(RoomReturn::kWhenPolled, kIrdmaUk),
                        read_in(RoomReturn::kWhenDone, kRxeVerbs), as(Column::kConnectX6)}),
    row<&P::receive_room>("receive-room", "the room of a receive comes back",
                          {own(RoomReturn::kWhenDone), read_in(RoomReturn::kWhenPolled, kMlx5Cq),
                           read_in(RoomReturn::kWhenPolled, kMlx5Cq),
                           read_in(RoomReturn::kWhenPolled, kIrdmaUk), unknown(), as(Column::kConnectX6)}),

    // Posts.
    row<&P::too_many_send_sges>(
        "too-many-elements-of-a-send", "a send with too many elements ends with",
        {own(PostError::kInvalid), read_in(PostError::kNoMemory, kMlx5Qp),
         read_in(PostError::kNoMemory, kMlx5Qp), read_in(PostError::kInvalid, kIrdmaUk),
         read_in(PostError::kInvalid, kRxeVerbs), as(Column::kConnectX6)}),
    row<&P::inline_too_long>("inline-too-long", "a send with too much inline data ends with",
                             {own(PostError::kInvalid), read_in(PostError::kNoMemory, kMlx5Qp),
                              read_in(PostError::kNoMemory, kMlx5Qp), read_in(PostError::kInvalid, kIrdmaUk),
                              read_in(PostError::kInvalid, kRxeVerbs), as(Column::kConnectX6)}),
    row<&P::early_post>(
        "send-before-rts", "a send before RTS is",
        {own(EarlyPost::kRefused), read_in(EarlyPost::kTakenAndLost, kMlx5Qp),
         read_in(EarlyPost::kTakenAndLost, kMlx5Qp), unknown(), unknown(), as(Column::kConnectX6)}),
    row<&P::early_receive>("receive-before-init", "a receive before INIT is",
                           {own(EarlyPost::kRefused), read_in(EarlyPost::kTakenAndLost, kMlx5Qp),
                            read_in(EarlyPost::kTakenAndLost, kMlx5Qp), unknown(),
                            read_in(EarlyPost::kRefused, kRxeVerbs), own(EarlyPost::kRefused)}),
    row<&P::atomic_address>("atomic-address", "the remote address of an atomic that can be posted is",
                            {own(AtomicAddress::kAny), read_in(AtomicAddress::kAny, kMlx5Qp),
                             read_in(AtomicAddress::kAny, kMlx5Qp), unknown(),
                             read_in(AtomicAddress::kAligned, kRxeVerbs), as(Column::kRxe)}),

    // What there is.
    row<&P::atomics>("atomics", "atomic operations are",
                     {own(Offer::kYes), measured(Offer::kYes, kPrint5), measured(Offer::kYes, kPrint6),
                      read_in(Offer::kNo, kIrdmaVerbs), read_in(Offer::kYes, kRxeDriver), as(Column::kE810)}),
    row<&P::shared_receive_queues>(
        "shared-receive-queues", "shared receive queues are",
        {own(Offer::kYes), measured(Offer::kYes, kPrint5), measured(Offer::kYes, kPrint6),
         measured(Offer::kNo, kPrintE810), read_in(Offer::kYes, kRxeDriver), as(Column::kE810)}),
    row<&P::xrc>("xrc", "XRC is",
                 {own(Offer::kYes), measured(Offer::kYes, kPrint5), measured(Offer::kYes, kPrint6),
                  read_in(Offer::kNo, kIrdmaVerbs), read_in(Offer::kNo, kRxeDriver), as(Column::kE810)}),
    row<&P::unreliable_connections>(
        "unreliable-connections", "UC queue pairs are",
        {own(Offer::kYes), read_in(Offer::kYes, kMlx5Verbs), read_in(Offer::kYes, kMlx5Verbs),
         read_in(Offer::kNo, kIrdmaVerbs), read_in(Offer::kYes, kRxeDriver), as(Column::kE810)}),
    row<&P::on_demand_paging>(
        "on-demand-paging", "on-demand paging is",
        {own(Offer::kYes), measured(Offer::kYes, kPrint5), measured(Offer::kYes, kPrint6),
         measured(Offer::kNo, kPrintE810), read_in(Offer::kNo, kRxeDriver), as(Column::kE810)}),
    row<&P::completion_times>(
        "completion-times", "times of completions are",
        {own(Offer::kYes), measured(Offer::kYes, kPrint5), measured(Offer::kYes, kPrint6),
         measured(Offer::kNo, kPrintE810), read_in(Offer::kNo, kRxeDriver), as(Column::kE810)}),

    // Completions.
    row<&P::failed_completion>(
        "fields-of-a-failure", "opcode, byte_len, imm_data and src_qp of a failed completion are",
        {own(UndefinedFields::kFilled), read_in(UndefinedFields::kUntouched, kMlx5Cq),
         read_in(UndefinedFields::kUntouched, kMlx5Cq), read_in(UndefinedFields::kOwnNumber, kIrdmaVerbs),
         read_in(UndefinedFields::kZero, kRxeVerbs), as(Column::kConnectX6)}),
    row<&P::successful_send>(
        "fields-of-a-send", "byte_len, imm_data and src_qp of a SEND or WRITE that is done are",
        {own(UndefinedFields::kFilled), read_in(UndefinedFields::kUntouched, kMlx5Cq),
         read_in(UndefinedFields::kUntouched, kMlx5Cq), read_in(UndefinedFields::kOwnNumber, kIrdmaVerbs),
         unknown(), as(Column::kConnectX6)}),
    row<&P::vendor_errors>(
        "vendor-errors", "vendor_err is",
        {own(VendorErrors::kZero), measured(VendorErrors::kMlx5, kFaults5),
         measured(VendorErrors::kMlx5, kFaults6), read_in(VendorErrors::kIrdma, kIrdmaVerbs),
         read_in(VendorErrors::kZero, kRxeDriver), own(VendorErrors::kZero)}),
    row<&P::grh_flag>("grh-flag", "IBV_WC_GRH is set in completions of receives:",
                      {own(GrhFlag::kDatagrams), read_in(GrhFlag::kDatagrams, kMlx5Cq),
                       read_in(GrhFlag::kDatagrams, kMlx5Cq), unknown(), read_in(GrhFlag::kEvery, kRxeDriver),
                       own(GrhFlag::kDatagrams)}),
    row<&P::immediate_flag>("immediate-flag",
                            "IBV_WC_WITH_IMM is set in completions of messages with immediate data:",
                            {own(ImmediateFlag::kReceives), read_in(ImmediateFlag::kBothEnds, kMlx5Cq),
                             read_in(ImmediateFlag::kBothEnds, kMlx5Cq), unknown(),
                             read_in(ImmediateFlag::kBothEnds, kRxeDriver), own(ImmediateFlag::kReceives)}),
    row<&P::unpolled_completions>(
        "unpolled-completions", "completions that wait when a queue pair is destroyed, or reset, are",
        {own(UnpolledCompletions::kRemoved), read_in(UnpolledCompletions::kRemoved, kMlx5Cq),
         read_in(UnpolledCompletions::kRemoved, kMlx5Cq), read_in(UnpolledCompletions::kRemoved, kIrdmaUk),
         read_in(UnpolledCompletions::kStay, kRxeVerbs), as(Column::kConnectX6)}),
    row<&P::named_failure>(
        "named-failure", "the completion that tells why a send failed is",
        {own(NamedFailure::kFailed), documented(NamedFailure::kFailed, kPollManual),
         documented(NamedFailure::kFailed, kPollManual), read_in(NamedFailure::kOldestOutstanding, kIrdmaUk),
         unknown(), as(Column::kE810)}),

    // What happens between the ends of a connection.
    row<&P::ack_timers>("ack-timers", "a peer that does not answer is given up after",
                        {own(AckTimers::kNominal), measured(AckTimers::kConnectX5, kFaults5),
                         measured(AckTimers::kConnectX6, kFaults6), unknown(),
                         read_in(AckTimers::kNominal, kRxeDriver), as(Column::kConnectX6)}),
    row<&P::seven_retries>("seven-retries", "retry_cnt 7 means",
                           {own(SevenRetries::kSeven), measured(SevenRetries::kSeven, kFaults5),
                            measured(SevenRetries::kSeven, kFaults6), unknown(),
                            read_in(SevenRetries::kEndless, kRxeDriver), as(Column::kConnectX6)}),
    row<&P::long_send>("long-send", "a SEND that is longer than the receive is answered by",
                       {own(LongSend::kInvalidRequest), documented(LongSend::kInvalidRequest, kStandard),
                        documented(LongSend::kInvalidRequest, kStandard), unknown(),
                        read_in(LongSend::kOperationalError, kRxeDriver), as(Column::kConnectX6)}),
    row<&P::long_write>("long-write", "of a WRITE over the end of a region is written",
                        {own(LongWrite::kNothing), measured(LongWrite::kWholePackets, kFaults5),
                         measured(LongWrite::kWholePackets, kFaults6), unknown(),
                         read_in(LongWrite::kNothing, kRxeDriver), as(Column::kConnectX6)}),
    row<&P::silence_after_deregistration>(
        "silence-after-deregistration",
        "microseconds of silence before a request for a region that was deregistered is refused:",
        {own(0), unknown(), measured(kSilence, kFaults6), unknown(), read_in(0, kRxeDriver),
         as(Column::kConnectX6)}),

    // Addresses.
    row<&P::gid_entries>("gid-table", "the GID table has",
                         {own(GidEntries::kRoceV2), read_in(GidEntries::kPairs, kGidManagement),
                          measured(GidEntries::kPairs, kPrint6), read_in(GidEntries::kRoceV2, kIrdmaDriver),
                          read_in(GidEntries::kRoceV2, kRxeDriver), own(GidEntries::kScattered)}),

    // What monitors read.
    row<&P::counter_names>(
        "counters", "hw_counters/ and RDMA netlink show these counters:",
        {own(CounterNames::kOwn), measured(CounterNames::kMlx5, kFaults5),
         measured(CounterNames::kMlx5, kFaults6), read_in(CounterNames::kIrdma, kIrdmaDriver),
         read_in(CounterNames::kRxe, kRxeDriver), own(CounterNames::kNone)}),
    row<&P::driver_files>("files", "beside what each device has, the driver makes of files and folders:",
                          {own(DriverFiles::kMlx5), read_in(DriverFiles::kMlx5, kMlx5Main),
                           read_in(DriverFiles::kMlx5, kMlx5Main), read_in(DriverFiles::kNone, kRdmaSysfs),
                           read_in(DriverFiles::kRxe, kRxeDriver), as(Column::kE810)}),
};

}  // namespace

std::span<const Row> behaviour_rows() {
  return kBehaviourRows;
}

}  // namespace urnic::nic
