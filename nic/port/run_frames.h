// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RunFrames: the frames that a run stands for, as a wire would carry them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/types.h"
#include "transport/wire/frame.h"
#include "transport/wire/packet.h"
#include "transport/wire/run.h"

namespace urnic::nic {

/// For those that want to see Ethernet frames, whole and single. Slow.
class RunFrames {
 public:
  /// `run` is a frame that came as a run of packets of that MTU, and stays where it is.
  RunFrames(std::span<const std::byte> run, transport::PathMtu mtu);
  RunFrames(const RunFrames&) = delete;
  RunFrames& operator=(const RunFrames&) = delete;

  /// 0: it is none, whatever its sender says.
  std::uint32_t count() const { return run_ ? run_->packets() : 0; }
  /// One of them, with its ICRC, into `out`.
  void write(std::uint32_t index, std::vector<std::byte>& out) const;

 private:
  transport::wire::Frame frame_;
  transport::wire::Packet whole_;
  std::optional<transport::wire::Run> run_;
};

}  // namespace urnic::nic
