// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/checks/attribute_checks.h"

#include <fmt/core.h>

#include <cstring>
#include <string_view>

#include "verbs_api/abi/untrusted_enum.h"

namespace urnic::verbs_api {
namespace {

using transport::wire::Gid;

constexpr unsigned kMostRetries = 7;
/// Below, ConnectX-6 waits as long as for this one.
constexpr unsigned kLeastTimeout = 16;
/// What ConnectX-5 and -6 allow.
constexpr unsigned kReadsOfConnectx = 16;

Gid gid_of(const ibv_gid& gid) {
  Gid result;
  static_assert(sizeof result.octets == sizeof gid.raw);
  std::memcpy(result.octets.data(), gid.raw, sizeof gid.raw);
  return result;
}

class AttributeCheck {
 public:
  AttributeCheck(Complaints& complaints, const std::string& name, const ibv_qp_attr& attributes, int mask)
      : complaints_(complaints), name_(name), attributes_(attributes), mask_(mask) {}

  void run(const PortFacts& port) const {
    if (has(IBV_QP_PORT) && attributes_.port_num == 0) {
      say(Finding::kAttributeNotSet, "port_num is 0");
    }
    if (has(IBV_QP_PATH_MTU)) check_path_mtu(port);
    if (has(IBV_QP_AV)) check_address(complaints_, name_, attributes_.ah_attr, port);
    if (has(IBV_QP_RETRY_CNT)) check_retries("retry_cnt", attributes_.retry_cnt);
    if (has(IBV_QP_RNR_RETRY)) check_retries("rnr_retry", attributes_.rnr_retry);
    if (has(IBV_QP_RETRY_CNT) && attributes_.retry_cnt == 0) {
      say(Finding::kNoRetries, "ibv_modify_qp() sets retry_cnt to 0");
    }
    const bool is_short = attributes_.timeout != 0 && attributes_.timeout < kLeastTimeout;
    if (has(IBV_QP_TIMEOUT) && is_short) {
      say(Finding::kShortAckTimeout,
          fmt::format("ibv_modify_qp() sets timeout to {}", unsigned{attributes_.timeout}));
    }
    if (has(IBV_QP_MAX_QP_RD_ATOMIC)) check_reads("max_rd_atomic", attributes_.max_rd_atomic);
    if (has(IBV_QP_MAX_DEST_RD_ATOMIC)) check_reads("max_dest_rd_atomic", attributes_.max_dest_rd_atomic);
  }

 private:
  bool has(int attribute) const { return (mask_ & attribute) != 0; }
  void say(Finding finding, const std::string& what) const {
    complaints_.complain(finding, name_, [&] { return what; });
  }

  void check_path_mtu(const PortFacts& port) const {
    const unsigned wanted = number_in(attributes_.path_mtu);
    if (wanted == 0) return say(Finding::kAttributeNotSet, "path_mtu is 0");
    if (wanted <= static_cast<unsigned>(port.active_mtu) || wanted > unsigned{IBV_MTU_4096}) return;
    say(Finding::kPathMtuAboveActive, fmt::format("path_mtu is {}, and active_mtu of the port {}",
                                                  128u << wanted, 128u << unsigned{port.active_mtu}));
  }

  void check_retries(std::string_view which, unsigned value) const {
    if (value <= kMostRetries) return;
    say(Finding::kRetryCountOutOfRange, fmt::format("ibv_modify_qp() sets {} to {}", which, value));
  }

  void check_reads(std::string_view which, unsigned value) const {
    if (value <= kReadsOfConnectx) return;
    say(Finding::kMoreThanSomeNicsHave,
        fmt::format("{} is {}, and ConnectX-5 and -6 allow {}", which, value, kReadsOfConnectx));
  }

  Complaints& complaints_;
  const std::string& name_;
  const ibv_qp_attr& attributes_;
  int mask_;
};

}  // namespace

void check_attributes(Complaints& complaints, const std::string& name, const ibv_qp_attr& attributes,
                      int mask, const PortFacts& port) {
  AttributeCheck(complaints, name, attributes, mask).run(port);
}

void check_address(Complaints& complaints, const std::string& name, const ibv_ah_attr& address,
                   const PortFacts& port) {
  if (address.is_global == 0) {
    return complaints.complain(Finding::kAddressWithoutGrh, name,
                               [] { return std::string("is_global of the address is 0"); });
  }
  const bool is_to_ipv4 = gid_of(address.grh.dgid).is_ipv4_mapped();
  if (!is_to_ipv4 || (port.source && port.source->is_ipv4_mapped())) return;
  complaints.complain(Finding::kGidOfOtherKind, name, [&] {
    return fmt::format("sgid_index {} is {}, and the packets go to an IPv4 address",
                       unsigned{address.grh.sgid_index},
                       port.source ? "an IPv6 address, as link-local ones are" : "empty");
  });
}

}  // namespace urnic::verbs_api
