#include "transport/uc/endpoint.h"

namespace urnic::transport {

template class UnreliableEndpoint<UcRequester, UcResponder>;

}  // namespace urnic::transport
