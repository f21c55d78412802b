// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/make_endpoint.h"

#include "transport/rc/endpoint.h"
#include "transport/uc/endpoint.h"
#include "transport/ud/endpoint.h"

namespace urnic::transport {

std::unique_ptr<Endpoint> make_endpoint(wire::Service service, const QpDependencies& dependencies) {
  switch (service) {
    case wire::Service::kRc:
    case wire::Service::kXrc:
      return std::make_unique<RcEndpoint>(dependencies);
    case wire::Service::kUc:
      return std::make_unique<UcEndpoint>(dependencies);
    case wire::Service::kUd:
      return std::make_unique<UdEndpoint>(dependencies);
    default:
      return nullptr;
  }
}

}  // namespace urnic::transport
