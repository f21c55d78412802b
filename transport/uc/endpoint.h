// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UcEndpoint: an unreliable connection.
#pragma once

#include "transport/uc/requester.h"
#include "transport/uc/responder.h"
#include "transport/unreliable_endpoint.h"

namespace urnic::transport {

using UcEndpoint = UnreliableEndpoint<UcRequester, UcResponder>;
extern template class UnreliableEndpoint<UcRequester, UcResponder>;

}  // namespace urnic::transport
