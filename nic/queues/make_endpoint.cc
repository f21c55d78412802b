#include "nic/queues/make_endpoint.h"

#include "nic/raw/raw_packet_endpoint.h"
#include "transport/rc/endpoint.h"
#include "transport/uc/endpoint.h"
#include "transport/ud/endpoint.h"

namespace urnic::nic {

std::unique_ptr<transport::Endpoint> make_endpoint(QpType type,
                                                   const transport::QpDependencies& dependencies) {
  switch (type) {
    case QpType::kUc:
      return std::make_unique<transport::UcEndpoint>(dependencies);
    case QpType::kUd:
      return std::make_unique<transport::UdEndpoint>(dependencies);
    case QpType::kRawPacket:
    case QpType::kRss:
    case QpType::kWorkQueue:
      return std::make_unique<RawPacketEndpoint>(dependencies);
    case QpType::kRc:
    case QpType::kXrcInitiator:
    case QpType::kXrcTarget:
      break;
  }
  return std::make_unique<transport::RcEndpoint>(dependencies);
}

}  // namespace urnic::nic
