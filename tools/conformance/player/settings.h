// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Settings: what the first lines of a script say, and what holds without them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/conformance/script/script.h"
#include "tools/conformance/script/trouble.h"
#include "transport/dma.h"
#include "transport/qp_config.h"
#include "transport/qp_state.h"

namespace urnic::scripts {

struct Settings {
  struct SharedQueue {
    std::uint32_t number = 0;
    std::optional<std::uint32_t> pd;
  };
  struct Region {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint32_t key = 0;
    transport::Access rights{};
    std::optional<std::uint32_t> pd;
  };
  struct Window {
    std::string name;
    std::uint32_t key = 0;
    unsigned type = 1;
  };

  Settings();

  /// Null if there is none of this name.
  const Region* region(const std::string& name) const;

  transport::QpConfig config;
  transport::QpState start = transport::QpState::kReadyToSend;
  bool is_xrc_target = true;
  bool shares_receives = false;
  std::vector<SharedQueue> xrc_queues;
  std::vector<Region> regions;
  std::vector<Window> windows;
};

/// Takes a statement with is_setting().
std::optional<Trouble> apply_setting(Settings& settings, const Statement& statement);

/// What a region holds at first: bytes that tell their addresses.
std::byte pattern_at(std::uint64_t address);

}  // namespace urnic::scripts
