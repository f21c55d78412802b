// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/make_endpoint.h"

#include "nic/raw/raw_packet_endpoint.h"
#include "transport/make_endpoint.h"

namespace urnic::nic {

std::unique_ptr<transport::Endpoint> make_endpoint(QpType type,
                                                   const transport::QpDependencies& dependencies) {
  const auto service = service_of(type);
  if (!service) return std::make_unique<RawPacketEndpoint>(dependencies);
  return transport::make_endpoint(*service, dependencies);
}

}  // namespace urnic::nic
