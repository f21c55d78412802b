// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/parameters.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <variant>

#include "transport/types.h"
#include "verbs_api/rdma_cm/kernel_address.h"

namespace urnic::verbs_api {
namespace {

using nic::rdma_cm::ConnectionParameters;
using nic::rdma_cm::DatagramParameters;
using nic::rdma_cm::kMaxPrivateBytes;
using nic::rdma_cm::PrivateBytes;

static_assert(kMaxPrivateBytes <= RDMA_MAX_PRIVATE_DATA);

template <typename Struct>
void write_private_data(const PrivateBytes& from, Struct& to) {
  std::memcpy(to.private_data, from.bytes.data(), from.size);
  to.private_data_len = from.size;
}

/// Writes what the event has into the response's union.
struct Writer {
  rdma_ucm_event_resp& response;

  void operator()(std::monostate) const {}
  void operator()(const ConnectionParameters& from) const {
    rdma_ucm_conn_param& to = response.param.conn;
    write_private_data(from.private_data, to);
    to.qp_num = static_cast<std::uint32_t>(from.qp);
    to.srq = from.srq ? 1 : 0;
    to.responder_resources = from.responder_resources;
    to.initiator_depth = from.initiator_depth;
    to.flow_control = from.flow_control ? 1 : 0;
    to.retry_count = from.retry_count;
    to.rnr_retry_count = from.rnr_retry_count;
    response.ece = {.vendor_id = from.ece.vendor_id, .attr_mod = from.ece.options};
  }
  void operator()(const DatagramParameters& from) const {
    rdma_ucm_ud_param& to = response.param.ud;
    write_private_data(from.private_data, to);
    to.qp_num = static_cast<std::uint32_t>(from.qp);
    to.qkey = from.qkey;
    to.ah_attr = to_kernel_address(from.address);
  }
};

/// Options of no vendor mean nothing: librdmacm accepts with its queue pair's options although the peer has
/// offered none.
nic::cm::Ece to_ece(const rdma_ucm_ece& from) {
  if (from.vendor_id == 0) return {};
  return {.vendor_id = from.vendor_id, .options = from.attr_mod};
}

}  // namespace

// The Q_Key of the command is for InfiniBand's own addresses only; librdmacm leaves it alone.
Result<ConnectionParameters, int> to_parameters(const rdma_ucm_conn_param& from, const rdma_ucm_ece& ece) {
  if (from.private_data_len > kMaxPrivateBytes) return EINVAL;
  ConnectionParameters to{.private_data = {.size = from.private_data_len},
                          .responder_resources = from.responder_resources,
                          .initiator_depth = from.initiator_depth,
                          .flow_control = from.flow_control != 0,
                          .retry_count = from.retry_count,
                          .rnr_retry_count = from.rnr_retry_count,
                          .srq = from.srq != 0,
                          .qp = transport::QpNumber{from.qp_num & transport::kMaxQpNumber},
                          .ece = to_ece(ece)};
  std::memcpy(to.private_data.bytes.data(), from.private_data, from.private_data_len);
  return to;
}

rdma_ucm_event_resp to_response(const nic::rdma_cm::Event& event) {
  rdma_ucm_event_resp response;
  std::memset(&response, 0, sizeof(response));  // all of the union
  response.uid = event.uid;
  response.id = static_cast<std::uint32_t>(event.id);
  response.event = static_cast<std::uint32_t>(event.type);
  response.status = static_cast<std::uint32_t>(event.status);
  std::visit(Writer{response}, event.parameters);
  return response;
}

}  // namespace urnic::verbs_api
