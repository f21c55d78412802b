// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/kernel/virtual_host.h"

#include <utility>

#include "tools/simulation/kernel/require.h"

namespace urnic::kernel {

VirtualHost::VirtualHost(const nic::DeviceConfig& config, const nic::Clock& clock, nic::PortOpener open_port,
                         const Parts& parts)
    : device_(config, clock, std::move(open_port)) {
  pd_ = require(device_.allocate_pd());
  cq_ = require(device_.create_cq(parts.completions, parts.channel, parts.context));
  std::byte* const memory = parts.memory.data();
  const std::uint64_t address = parts.address.value_or(reinterpret_cast<std::uint64_t>(memory));
  region_ = require(device_.register_memory(*pd_, memory, parts.memory.size(), address, parts.access));
}

Result<void, Error> VirtualHost::close() {
  return cq_ == nullptr ? success() : device_.destroy_cq(cq_);
}

std::unique_ptr<nic::QueuePair> VirtualHost::create_qp(const nic::QpCapabilities& capabilities,
                                                       nic::QpType type) {
  return require(device_.create_qp({.type = type,
                                    .capabilities = capabilities,
                                    .pd = pd_.get(),
                                    .send_queue = cq_.get(),
                                    .receive_queue = cq_.get()}));
}

transport::Sge VirtualHost::sge(std::size_t offset, std::size_t length) const {
  return {.address = region_.address + offset,
          .length = static_cast<std::uint32_t>(length),
          .lkey = transport::Lkey{region_.key}};
}

}  // namespace urnic::kernel
