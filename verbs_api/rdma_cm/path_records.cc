// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/path_records.h"

#include <endian.h>
#include <infiniband/sa.h>

#include <cstdint>
#include <cstring>

#include "verbs_api/device/address.h"
#include "verbs_api/device/mtu.h"

namespace urnic::verbs_api {
namespace {

using nic::rdma_cm::PathRecord;

/// The value is meant as it is, neither as a limit from above nor from below.
constexpr std::uint8_t kExactly = 2;
/// Where a selector stands in a PathRecord, beside its value.
constexpr unsigned kSelectorShift = 6;

std::uint8_t exactly(unsigned value) {
  return static_cast<std::uint8_t>(kExactly << kSelectorShift | (value & 0x3fu));
}

}  // namespace

ib_user_path_rec to_user_path(const PathRecord& path) {
  ib_user_path_rec record{};
  std::memcpy(record.dgid, path.destination.octets.data(), sizeof(record.dgid));
  std::memcpy(record.sgid, path.source.octets.data(), sizeof(record.sgid));
  record.flow_label = htobe32(path.flow_label);
  record.reversible = 1;
  record.mtu = to_ibv_mtu(path.mtu);
  record.pkey = htobe16(path.pkey);
  record.hop_limit = path.hop_limit;
  record.traffic_class = path.traffic_class;
  record.sl = path.service_level;
  record.mtu_selector = kExactly;
  record.rate_selector = kExactly;
  record.rate = path.rate;
  record.packet_life_time_selector = kExactly;
  record.packet_life_time = path.packet_life_time;
  return record;
}

ib_path_rec_data to_path_data(const PathRecord& path) {
  ibv_path_record record{};
  record.dgid = to_ibv_gid(path.destination);
  record.sgid = to_ibv_gid(path.source);
  record.flowlabel_hoplimit = htobe32(path.flow_label << 8 | path.hop_limit);
  record.tclass = path.traffic_class;
  record.reversible_numpath = IBV_PATH_RECORD_REVERSIBLE;
  record.pkey = htobe16(path.pkey);
  record.qosclass_sl = htobe16(path.service_level);
  record.mtu = exactly(to_ibv_mtu(path.mtu));
  record.rate = exactly(path.rate);
  record.packetlifetime = exactly(path.packet_life_time);

  ib_path_rec_data data{};
  data.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
  static_assert(sizeof(data.path_rec) == sizeof(record));
  std::memcpy(data.path_rec, &record, sizeof(record));
  return data;
}

}  // namespace urnic::verbs_api
