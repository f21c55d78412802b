#include "tests/scripts/stage.h"
#include "transport/rc/endpoint.h"
#include "transport/uc/endpoint.h"
#include "transport/ud/endpoint.h"

namespace urnic::scripts {

std::unique_ptr<transport::Endpoint> make_endpoint(transport::wire::Service service,
                                                   const transport::QpDependencies& dependencies) {
  using transport::wire::Service;
  switch (service) {
    case Service::kRc:
    case Service::kXrc:
      return std::make_unique<transport::RcEndpoint>(dependencies);
    case Service::kUc:
      return std::make_unique<transport::UcEndpoint>(dependencies);
    case Service::kUd:
      return std::make_unique<transport::UdEndpoint>(dependencies);
    default:
      return nullptr;
  }
}

}  // namespace urnic::scripts
