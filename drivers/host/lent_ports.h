// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LentPorts: the ports of rdma_cm that the host's switch has lent to a process in advance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "drivers/host/message.h"
#include "nic/rdma_cm/types.h"

namespace urnic::drivers {

/// By port space. The port that was given back longest ago is taken first. One thread at a time.
class LentPorts {
 public:
  using PortSpace = nic::rdma_cm::PortSpace;

  /// With less it is time to have more lent.
  static constexpr std::size_t kFew = kLentPorts / 2;

  /// kLentPorts from there on.
  void add(PortSpace space, std::uint16_t first) {
    Stock& stock = stocks_[space];
    stock.blocks.push_back(first);
    for (std::uint16_t i = 0; i < kLentPorts; ++i) {
      stock.free.push_back(static_cast<std::uint16_t>(first + i));
    }
  }
  std::optional<std::uint16_t> take(PortSpace space) {
    std::deque<std::uint16_t>& free = stocks_[space].free;
    if (free.empty()) return std::nullopt;
    const std::uint16_t port = free.front();
    free.pop_front();
    return port;
  }
  /// That port, if it is free.
  bool take(PortSpace space, std::uint16_t port) { return std::erase(stocks_[space].free, port) > 0; }
  /// One that was taken.
  void give_back(PortSpace space, std::uint16_t port) {
    Stock& stock = stocks_[space];
    const auto has_it = [port](std::uint16_t first) { return port >= first && port - first < kLentPorts; };
    if (std::ranges::any_of(stock.blocks, has_it)) stock.free.push_back(port);
  }
  bool has_few(PortSpace space) { return stocks_[space].free.size() < kFew; }
  /// The spaces in which ports were wanted.
  std::vector<PortSpace> spaces() const {
    std::vector<PortSpace> all;
    for (const auto& [space, stock] : stocks_) all.push_back(space);
    return all;
  }

  /// What was lent, by the first port of each kLentPorts.
  std::vector<std::pair<PortSpace, std::uint16_t>> blocks() const {
    std::vector<std::pair<PortSpace, std::uint16_t>> all;
    for (const auto& [space, stock] : stocks_) {
      for (const std::uint16_t first : stock.blocks) all.emplace_back(space, first);
    }
    return all;
  }
  /// Those from `first` on are another process's now. Ids that have one keep it.
  void forget(PortSpace space, std::uint16_t first) {
    Stock& stock = stocks_[space];
    std::erase(stock.blocks, first);
    std::erase_if(stock.free,
                  [first](std::uint16_t port) { return port >= first && port - first < kLentPorts; });
  }

 private:
  struct Stock {
    std::deque<std::uint16_t> free;
    std::vector<std::uint16_t> blocks;
  };

  std::map<PortSpace, Stock> stocks_;
};

}  // namespace urnic::drivers
