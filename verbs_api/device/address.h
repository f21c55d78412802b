// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Address vectors and GIDs, in libibverbs' structs and in the device's.
#pragma once

#include "nic/path/path.h"
#include "transport/result.h"
#include "transport/wire/address.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// The only port there is.
inline constexpr std::uint8_t kPort = 1;

transport::wire::Gid to_gid(const ibv_gid& gid);
ibv_gid to_ibv_gid(const transport::wire::Gid& gid);

/// EINVAL without a GRH, which RoCE cannot do without, or for a port that does not exist. Whether the
/// addresses are any good is for the device to say. The LID is ignored: some programs put a UDP port there.
Result<nic::AddressVector, Error> to_address_vector(const ibv_ah_attr& attributes);
ibv_ah_attr to_ah_attributes(const nic::AddressVector& address);

}  // namespace urnic::verbs_api
