// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/known_programs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tools/runtime/loader/program_file.h"
#include "verbs_api/fault/likeness.h"

namespace urnic::tools {
namespace {

struct KnownProgram {
  std::string_view name;
  std::string_view package;
};

/// As `dpkg -L` of Debian 12's packages has them.
constexpr KnownProgram kPrograms[] = {
    {"cmtime", "rdmacm-utils"},
    {"dapltest", "dapl2-utils"},
    {"dtest", "dapl2-utils"},
    {"fi_info", "libfabric-bin"},
    {"fi_pingpong", "libfabric-bin"},
    {"fio", "fio"},
    {"ib_atomic_bw", "perftest"},
    {"ib_atomic_lat", "perftest"},
    {"ib_read_bw", "perftest"},
    {"ib_read_lat", "perftest"},
    {"ib_send_bw", "perftest"},
    {"ib_send_lat", "perftest"},
    {"ib_write_bw", "perftest"},
    {"ib_write_lat", "perftest"},
    {"ibstat", "infiniband-diags"},
    {"ibstatus", "infiniband-diags"},
    {"ibv_asyncwatch", "ibverbs-utils"},
    {"ibv_devices", "ibverbs-utils"},
    {"ibv_devinfo", "ibverbs-utils"},
    {"ibv_rc_pingpong", "ibverbs-utils"},
    {"ibv_srq_pingpong", "ibverbs-utils"},
    {"ibv_uc_pingpong", "ibverbs-utils"},
    {"ibv_ud_pingpong", "ibverbs-utils"},
    {"ibv_xsrq_pingpong", "ibverbs-utils"},
    {"mckey", "rdmacm-utils"},
    {"mpiexec.mpich", "mpich"},
    {"mpirun", "openmpi-bin"},
    {"mpirun.openmpi", "openmpi-bin"},
    {"qperf", "qperf"},
    {"raw_ethernet_bw", "perftest"},
    {"raw_ethernet_lat", "perftest"},
    {"rcopy", "rdmacm-utils"},
    {"rdma", "iproute2"},
    {"rdma_client", "rdmacm-utils"},
    {"rdma_server", "rdmacm-utils"},
    {"rdma_xclient", "rdmacm-utils"},
    {"rdma_xserver", "rdmacm-utils"},
    {"riostream", "rdmacm-utils"},
    {"rping", "rdmacm-utils"},
    {"rstream", "rdmacm-utils"},
    {"ucmatose", "rdmacm-utils"},
    {"ucx_info", "ucx-utils"},
    {"ucx_perftest", "ucx-utils"},
    {"udaddy", "rdmacm-utils"},
    {"udpong", "rdmacm-utils"},
};

/// Each shows the device and ends. The last one is on every machine.
constexpr std::array kExamples{"ibv_devinfo", "ibv_devices", "rdma link", "fi_info -p verbs",
                               "ls /sys/class/infiniband"};

}  // namespace

std::string advice_on_missing_program(std::string_view program) {
  const auto* const known = std::ranges::find(kPrograms, program, &KnownProgram::name);
  if (known != std::end(kPrograms)) {
    return fmt::format("; on Debian: apt install {}", known->package);
  }
  if (program.find('/') != std::string_view::npos) return {};
  std::vector<std::string_view> names;
  for (const KnownProgram& each : kPrograms) names.push_back(each.name);
  const std::string near = verbs_api::names_like(program, names);
  return near.empty() ? "; no folder of PATH has it" : "; near it: " + near;
}

std::string example_command() {
  const auto* const found = std::ranges::find_if(kExamples, [](std::string_view example) {
    return find_program(std::string(example.substr(0, example.find(' ')))).has_value();
  });
  return found != kExamples.end() ? *found : kExamples.back();
}

}  // namespace urnic::tools
