#include "transport/ud/endpoint.h"

namespace urnic::transport {

template class UnreliableEndpoint<UdRequester, UdResponder>;

}  // namespace urnic::transport
