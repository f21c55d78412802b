// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/personality/words.h"

#include <fmt/core.h>

namespace urnic::nic {

std::string_view words_of(GrantedRoom room) {
  switch (room) {
    case GrantedRoom::kPowerOfTwo:
      return "the next power of two";
    case GrantedRoom::kMlx5:
      return "what fits in a power of two of bytes";
    case GrantedRoom::kIrdma:
      return "what fits in a power of two of 32 bytes, less a reserve";
    case GrantedRoom::kAsRequested:
      return "what was requested and no more";
  }
  return "";
}

std::string_view words_of(RoomReturn moment) {
  switch (moment) {
    case RoomReturn::kWhenDone:
      return "when the NIC is done with it";
    case RoomReturn::kWhenPolled:
      return "when a completion of it, or of a later one, is polled";
  }
  return "";
}

std::string_view words_of(PostError error) {
  switch (error) {
    case PostError::kInvalid:
      return "EINVAL";
    case PostError::kNoMemory:
      return "ENOMEM";
  }
  return "";
}

std::string_view words_of(EarlyPost post) {
  switch (post) {
    case EarlyPost::kRefused:
      return "refused with EINVAL";
    case EarlyPost::kTakenAndLost:
      return "taken without an error, and lost";
  }
  return "";
}

std::string_view words_of(AtomicAddress address) {
  switch (address) {
    case AtomicAddress::kAny:
      return "any; the responder refuses it";
    case AtomicAddress::kAligned:
      return "a multiple of 8, otherwise EINVAL";
  }
  return "";
}

std::string_view words_of(UndefinedFields fields) {
  switch (fields) {
    case UndefinedFields::kFilled:
      return "what is known of the request, else 0";
    case UndefinedFields::kUntouched:
      return "what stood there before the poll";
    case UndefinedFields::kZero:
      return "0";
    case UndefinedFields::kOwnNumber:
      return "what is known of the request; its own number in src_qp";
  }
  return "";
}

std::string_view words_of(VendorErrors errors) {
  switch (errors) {
    case VendorErrors::kZero:
      return "0";
    case VendorErrors::kMlx5:
      return "syndromes of mlx5, such as 0x81 and 0x88";
    case VendorErrors::kIrdma:
      return "0x10000 and the flush code of irdma";
  }
  return "";
}

std::string_view words_of(GrhFlag flag) {
  switch (flag) {
    case GrhFlag::kDatagrams:
      return "datagrams";
    case GrhFlag::kEvery:
      return "all that succeed";
  }
  return "";
}

std::string_view words_of(ImmediateFlag flag) {
  switch (flag) {
    case ImmediateFlag::kReceives:
      return "receives";
    case ImmediateFlag::kBothEnds:
      return "receives and sends";
  }
  return "";
}

std::string_view words_of(UnpolledCompletions completions) {
  switch (completions) {
    case UnpolledCompletions::kRemoved:
      return "removed from the completion queue";
    case UnpolledCompletions::kStay:
      return "stay, and are polled later";
  }
  return "";
}

std::string_view words_of(NamedFailure failure) {
  switch (failure) {
    case NamedFailure::kFailed:
      return "the one that failed";
    case NamedFailure::kOldestOutstanding:
      return "the oldest without a completion; each after it is flushed";
  }
  return "";
}

std::string_view words_of(AckTimers timers) {
  switch (timers) {
    case AckTimers::kNominal:
      return "4.096 us times 2^timeout, at least 4.2 ms, for each try";
    case AckTimers::kConnectX5:
      return "3.65 s with retry_cnt 7, whatever a smaller timeout says";
    case AckTimers::kConnectX6:
      return "3.66 s with retry_cnt 7 and a timeout up to 16";
  }
  return "";
}

std::string_view words_of(SevenRetries retries) {
  switch (retries) {
    case SevenRetries::kSeven:
      return "seven retries";
    case SevenRetries::kEndless:
      return "retries without end";
  }
  return "";
}

std::string_view words_of(LongSend send) {
  switch (send) {
    case LongSend::kInvalidRequest:
      return "invalid request; the receive ends with LOC_LEN_ERR";
    case LongSend::kOperationalError:
      return "remote operational error; the receive ends with LOC_QP_OP_ERR";
  }
  return "";
}

std::string_view words_of(LongWrite write) {
  switch (write) {
    case LongWrite::kNothing:
      return "nothing";
    case LongWrite::kWholePackets:
      return "the whole packets before the end";
  }
  return "";
}

std::string_view words_of(GidEntries entries) {
  switch (entries) {
    case GidEntries::kRoceV2:
      return "RoCE v2: 0 link-local, 1 the first IPv4 address";
    case GidEntries::kPairs:
      return "pairs of RoCE v1 and v2: 0 and 1 link-local, 2 and 3 the first IPv4 address";
    case GidEntries::kScattered:
      return "RoCE v2, from index 4 on, with empty entries between: no NIC has them so";
  }
  return "";
}

std::string_view words_of(CounterNames names) {
  switch (names) {
    case CounterNames::kOwn:
      return "counters of rdma_rxe, mlx5 and EFA, as far as urnic counts them";
    case CounterNames::kMlx5:
      return "mlx5's, counted as mlx5 does";
    case CounterNames::kIrdma:
      return "irdma's";
    case CounterNames::kRxe:
      return "rdma_rxe's";
    case CounterNames::kNone:
      return "none: no name is in each driver's list";
  }
  return "";
}

std::string_view words_of(DriverFiles files) {
  switch (files) {
    case DriverFiles::kMlx5:
      return "counters/, board_id, hca_type, hw_rev, ecn/, and mlx5's folder in debugfs";
    case DriverFiles::kNone:
      return "nothing";
    case DriverFiles::kRxe:
      return "parent";
  }
  return "";
}

std::string_view words_of(Offer offer) {
  switch (offer) {
    case Offer::kYes:
      return "offered";
    case Offer::kNo:
      return "not offered";
  }
  return "";
}

std::string words_of(std::uint64_t number) {
  return number >> 32 != 0 ? fmt::format("{:#x}", number) : fmt::format("{}", number);
}

}  // namespace urnic::nic
