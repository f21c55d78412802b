// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/uc/endpoint.h"

namespace urnic::transport {

template class UnreliableEndpoint<UcRequester, UcResponder>;

}  // namespace urnic::transport
