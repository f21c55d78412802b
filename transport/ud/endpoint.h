// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UdEndpoint: unreliable datagrams.
#pragma once

#include "transport/ud/requester.h"
#include "transport/ud/responder.h"
#include "transport/unreliable_endpoint.h"

namespace urnic::transport {

/// config.path_mtu is the port's: there is no path before a datagram is sent.
using UdEndpoint = UnreliableEndpoint<UdRequester, UdResponder>;
extern template class UnreliableEndpoint<UdRequester, UdResponder>;

}  // namespace urnic::transport
