// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/rss_attributes.h"

#include <cstring>

#include "nic/errors.h"
#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/queues/rwq_ind_table.h"

namespace urnic::verbs_api {
namespace {

using nic::HashFields;
using nic::invalid;
using nic::not_offered;
using transport::to_integer;

static_assert(to_integer(HashFields::kSourceIpv4) == IBV_RX_HASH_SRC_IPV4);
static_assert(to_integer(HashFields::kDestinationIpv4) == IBV_RX_HASH_DST_IPV4);
static_assert(to_integer(HashFields::kSourceIpv6) == IBV_RX_HASH_SRC_IPV6);
static_assert(to_integer(HashFields::kDestinationIpv6) == IBV_RX_HASH_DST_IPV6);
static_assert(to_integer(HashFields::kSourceTcpPort) == IBV_RX_HASH_SRC_PORT_TCP);
static_assert(to_integer(HashFields::kDestinationTcpPort) == IBV_RX_HASH_DST_PORT_TCP);
static_assert(to_integer(HashFields::kSourceUdpPort) == IBV_RX_HASH_SRC_PORT_UDP);
static_assert(to_integer(HashFields::kDestinationUdpPort) == IBV_RX_HASH_DST_PORT_UDP);

}  // namespace

Result<nic::RssHash, Error> to_rss_hash(const ibv_qp_init_attr_ex& init_attr) {
  constexpr std::uint32_t kBoth = IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  constexpr std::uint64_t kKnownFields =
      kOfferedHashFields | IBV_RX_HASH_IPSEC_SPI | static_cast<std::uint32_t>(IBV_RX_HASH_INNER);

  if (number_in(init_attr.qp_type) != IBV_QPT_RAW_PACKET) return not_offered("RSS is for raw packets");
  if ((init_attr.comp_mask & kBoth) != kBoth || init_attr.rwq_ind_tbl == nullptr) {
    return invalid("RSS needs an indirection table and a hash");
  }
  const ibv_qp_cap& cap = init_attr.cap;
  if (init_attr.recv_cq != nullptr || init_attr.srq != nullptr || cap.max_recv_wr != 0 ||
      cap.max_recv_sge != 0) {
    return invalid("the work queues receive for a queue pair with RSS");
  }
  if (init_attr.send_cq != nullptr || cap.max_send_wr != 0 || cap.max_send_sge != 0 ||
      cap.max_inline_data != 0) {
    return not_offered("a queue pair with RSS does not send");
  }
  const ibv_rx_hash_conf& hash = init_attr.rx_hash_conf;
  if (hash.rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ) {
    return not_offered("the hash function is not Toeplitz");
  }
  nic::ToeplitzKey key;
  if (hash.rx_hash_key == nullptr || hash.rx_hash_key_len != key.size()) {
    return invalid("the key of a Toeplitz hash has 40 bytes");
  }
  if ((hash.rx_hash_fields_mask & ~kKnownFields) != 0) return invalid("the hash is over unknown fields");
  if ((hash.rx_hash_fields_mask & ~kOfferedHashFields) != 0) {
    return not_offered("a hash is over addresses and ports of the outer headers");
  }
  const bool has_choice = RwqIndTable::of(init_attr.rwq_ind_tbl).inner->queues().size() > 1;
  if (hash.rx_hash_fields_mask == 0 && has_choice) {
    return invalid("there are work queues to choose among, and nothing to hash");
  }
  std::memcpy(key.data(), hash.rx_hash_key, key.size());
  return nic::RssHash(key, static_cast<HashFields>(hash.rx_hash_fields_mask));
}

}  // namespace urnic::verbs_api
