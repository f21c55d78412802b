// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PcapWriter: a capture file of the classic format, written without libpcap.
#pragma once

#include <memory>
#include <string>

#include "drivers/pcap/frame_writer.h"
#include "nic/port/medium.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Classic pcap with nanosecond times: frames and nothing else.
class PcapWriter final : public FrameWriter {
 public:
  /// With the link type Ethernet, or raw IP where the medium carries IP packets. Errors: the same as
  /// CaptureFile::create()'s, and the first write's.
  static Result<std::unique_ptr<PcapWriter>, Error> create(const std::string& path,
                                                           nic::Medium medium = nic::Medium::kEthernet);

  void add(std::span<const std::byte> frame, std::chrono::nanoseconds time, FrameDirection direction,
           std::string_view comment) override;

 private:
  PcapWriter(std::unique_ptr<CaptureFile> file, nic::Medium medium);
};

}  // namespace urnic::drivers
