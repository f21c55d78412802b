// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/ud/endpoint.h"

namespace urnic::transport {

template class UnreliableEndpoint<UdRequester, UdResponder>;

}  // namespace urnic::transport
