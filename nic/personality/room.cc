// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/personality/room.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <string>
#include <utility>

namespace urnic::nic {
namespace {

Error too_much(std::string message) {
  return {.code = EINVAL, .message = std::move(message)};
}

/// `limit` is the name that ibv_query_device has for it; `name` is the program's.
Error beyond_limit(const char* name, std::uint32_t wanted, const char* limit, std::uint32_t least,
                   std::uint64_t most) {
  return too_much(fmt::format("{} is {}, and this device takes {} to {} (ibv_query_device: {})", name, wanted,
                              least, most, limit));
}

constexpr std::uint32_t aligned(std::uint32_t bytes, std::uint32_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// --- mlx5 (rdma-core, providers/mlx5/verbs.c and srq.c) ---

constexpr std::uint32_t kMlx5Segment = 16;  ///< an element, and most parts of a request
constexpr std::uint32_t kMlx5Unit = 64;     ///< of which a send takes several
constexpr std::uint32_t kMlx5InlineHeader = 4;
constexpr std::uint32_t kMlx5LargestSend = 1024;
constexpr std::uint32_t kMlx5MostUnits = 32768;
constexpr std::uint32_t kMlx5MostReceiveSges = 32;

/// What stands before the elements. A connected queue pair can bind memory windows unless the program says
/// that it will not: control, UMR control, key context and a list.
constexpr std::uint32_t mlx5_overhead(RoomService service) {
  constexpr std::uint32_t kControl = 16;
  constexpr std::uint32_t kWindow = kControl + 48 + 64 + 64;
  switch (service) {
    case RoomService::kConnected:
      return kWindow;
    case RoomService::kXrc:
      return kWindow + 16;
    case RoomService::kDatagram:
      return kControl + 48;
    case RoomService::kRaw:
      return kControl + 16;
  }
  return kControl;
}

Result<void, Error> size_mlx5_sends(RoomService service, QueueSizes& sizes) {
  if (sizes.sends == 0) return success();
  const std::uint32_t overhead = mlx5_overhead(service);
  const std::uint32_t with_elements = overhead + kMlx5Segment * sizes.send_sges;
  const std::uint32_t with_data =
      sizes.inline_bytes == 0 ? 0 : overhead + aligned(kMlx5InlineHeader + sizes.inline_bytes, kMlx5Segment);
  const std::uint32_t bytes = aligned(std::max(with_elements, with_data), kMlx5Unit);
  if (bytes > kMlx5LargestSend) return failure(too_much("a send has no room for so much inline data"));
  const std::uint32_t queue_bytes = std::bit_ceil(sizes.sends * bytes);
  if (queue_bytes / kMlx5Unit > kMlx5MostUnits) {
    return failure(too_much("a send queue has 2 MiB, and so many sends of this size need more"));
  }
  sizes.inline_bytes = bytes - overhead - kMlx5InlineHeader;
  sizes.sends = queue_bytes / bytes;
  return success();
}

Result<QueueSizes, Error> mlx5_sizes(RoomService service, QueueSizes sizes) {
  if (auto sized = size_mlx5_sends(service, sizes); !sized) return failure(sized.error());
  if (sizes.receives == 0) return sizes;
  const std::uint32_t bytes = std::bit_ceil(kMlx5Segment * std::max(sizes.receive_sges, 1u));
  const std::uint32_t queue_bytes = std::max(std::bit_ceil(sizes.receives) * bytes, kMlx5Unit);
  sizes.receives = queue_bytes / bytes;
  sizes.receive_sges = bytes / kMlx5Segment;
  return sizes;
}

QueueSizes mlx5_shared_sizes(QueueSizes sizes) {
  const std::uint32_t bytes = std::bit_ceil(std::max(kMlx5Segment * (1 + sizes.receive_sges), 32u));
  sizes.receive_sges = bytes / kMlx5Segment - 1;
  sizes.receives = std::bit_ceil(sizes.receives + 1) - 1;
  return sizes;
}

// --- irdma, second generation (rdma-core, providers/irdma/uk.c and uverbs.c) ---

constexpr std::uint32_t kIrdmaSendReserve = 258;
constexpr std::uint32_t kIrdmaReceiveReserve = 1;
constexpr std::uint32_t kIrdmaSmallest = 8;  ///< queue, in requests

/// Two to the power of it are the quanta of the largest request.
constexpr std::uint32_t irdma_shift(std::uint32_t sges, std::uint32_t inline_bytes) {
  if (sges <= 1 && inline_bytes <= 8) return 0;
  if (sges < 4 && inline_bytes <= 39) return 1;
  if (sges < 8 && inline_bytes <= 101) return 2;
  return 3;
}

constexpr std::uint32_t irdma_room(std::uint32_t requests, std::uint32_t shift, std::uint32_t reserve) {
  const std::uint32_t quanta = std::bit_ceil((requests << shift) + reserve);
  return (std::max(quanta, kIrdmaSmallest << shift) - reserve) >> shift;
}

QueueSizes irdma_sizes(QueueSizes sizes) {
  // One element more, for immediate data.
  const std::uint32_t shift = irdma_shift(sizes.send_sges + 1, sizes.inline_bytes);
  sizes.sends = irdma_room(sizes.sends, shift, kIrdmaSendReserve);
  sizes.receives = irdma_room(sizes.receives, irdma_shift(sizes.receive_sges, 0), kIrdmaReceiveReserve);
  return sizes;
}

Result<void, Error> check_limits(const Personality& nic, const QueueSizes& sizes) {
  const std::uint64_t most_receive_sges =
      nic.granted_room == GrantedRoom::kMlx5 ? kMlx5MostReceiveSges : nic.max_sge;
  const struct {
    const char* name;
    std::uint32_t wanted;
    const char* limit;
    std::uint64_t most;
  } kLimits[] = {
      {"cap.max_send_wr", sizes.sends, "max_qp_wr", nic.max_qp_wr},
      {"cap.max_recv_wr", sizes.receives, "max_qp_wr", nic.max_qp_wr},
      {"cap.max_send_sge", sizes.send_sges, "max_sge", nic.max_sge},
      {"cap.max_recv_sge", sizes.receive_sges, "max_sge", most_receive_sges},
  };
  for (const auto& one : kLimits) {
    if (one.wanted > one.most) return failure(beyond_limit(one.name, one.wanted, one.limit, 0, one.most));
  }
  if (sizes.inline_bytes > nic.max_inline_data) {
    return failure(too_much(fmt::format(
        "cap.max_inline_data is {}, and a work request has at most {} bytes inline: ask for less, and send "
        "longer messages without IBV_SEND_INLINE",
        sizes.inline_bytes, nic.max_inline_data)));
  }
  return success();
}

}  // namespace

Result<QueueSizes, Error> granted_sizes(const Personality& nic, RoomService service,
                                        const QueueSizes& requested) {
  if (auto checked = check_limits(nic, requested); !checked) return failure(checked.error());
  switch (nic.granted_room) {
    case GrantedRoom::kMlx5:
      return mlx5_sizes(service, requested);
    case GrantedRoom::kIrdma:
      return irdma_sizes(requested);
    case GrantedRoom::kPowerOfTwo:
    case GrantedRoom::kAsRequested:
      break;
  }
  return requested;
}

Result<QueueSizes, Error> granted_shared_sizes(const Personality& nic, const QueueSizes& requested) {
  if (requested.receives == 0 || requested.receives > nic.max_srq_wr) {
    return failure(beyond_limit("attr.max_wr", requested.receives, "max_srq_wr", 1, nic.max_srq_wr));
  }
  if (requested.receive_sges > nic.max_srq_sge) {
    return failure(beyond_limit("attr.max_sge", requested.receive_sges, "max_srq_sge", 0, nic.max_srq_sge));
  }
  return nic.granted_room == GrantedRoom::kMlx5 ? mlx5_shared_sizes(requested) : requested;
}

Result<void, Error> check_completions(const Personality& nic, std::uint32_t requested) {
  if (requested > 0 && requested <= nic.max_cqe) return success();
  return failure(beyond_limit("cqe", requested, "max_cqe", 1, nic.max_cqe));
}

std::uint32_t granted_completions(const Personality& nic, std::uint32_t requested) {
  return nic.granted_room == GrantedRoom::kMlx5 ? std::bit_ceil(requested + 1) - 1 : requested;
}

}  // namespace urnic::nic
