// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/host_capture.h"

#include "drivers/network/routes.h"

namespace urnic::experiment {

Result<std::unique_ptr<HostCapture>, Error> HostCapture::create(const network::Network& network,
                                                                network::HostId host,
                                                                const std::string& path) {
  auto writer = drivers::PcapWriter::create(path);
  if (!writer) return writer.error();
  const network::PortId own = network.port_of(host);
  return std::unique_ptr<HostCapture>(new HostCapture(own, network::peer_of(own), std::move(writer.value())));
}

void HostCapture::on_send(network::PortId port, std::span<const std::byte> frame, network::Time time) {
  if (port != sends_ && port != receives_) return;
  const auto direction = port == sends_ ? drivers::FrameDirection::kSent : drivers::FrameDirection::kReceived;
  writer_->add(frame, time.time_since_epoch(), direction, "");
}

}  // namespace urnic::experiment
