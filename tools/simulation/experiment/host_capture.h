// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// HostCapture: what is on the link of one host, as a capture.
#pragma once

#include <memory>
#include <string>

#include "drivers/network/network.h"
#include "drivers/network/observer.h"
#include "drivers/pcap/pcap_writer.h"
#include "transport/result.h"

namespace urnic::experiment {

/// Frames of both directions, pause frames too, with the virtual time at which their first bit left, from
/// 1970 on. What faults do to a frame that the host receives happens after it.
class HostCapture final : public network::Observer {
 public:
  /// `network` outlives it. The error is the file's.
  static Result<std::unique_ptr<HostCapture>, Error> create(const network::Network& network,
                                                            network::HostId host, const std::string& path);

  void on_send(network::PortId port, std::span<const std::byte> frame, network::Time time) override;

 private:
  HostCapture(network::PortId sends, network::PortId receives, std::unique_ptr<drivers::PcapWriter> writer)
      : sends_(sends), receives_(receives), writer_(std::move(writer)) {}

  network::PortId sends_;
  network::PortId receives_;
  std::unique_ptr<drivers::PcapWriter> writer_;
};

}  // namespace urnic::experiment
