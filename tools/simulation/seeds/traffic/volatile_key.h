// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// VolatileKey: a memory region that its program deregisters while peers are using it.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/simulation/seeds/traffic/host.h"

namespace urnic::sim {

/// A second key of a host's shared region, which is taken back at any moment.
class VolatileKey {
 public:
  /// Whose work requests use the key.
  class User {
   public:
    virtual ~User() = default;
    /// The key that the work request uses is good for nothing any more: it may be refused, and nothing may be
    /// written through it from now on.
    virtual void on_key_gone(std::uint64_t wr_id) = 0;
  };

  explicit VolatileKey(Host& host) : host_(host), key_(host.register_volatile()) {}
  ~VolatileKey() { host_.deregister_volatile(); }
  VolatileKey(const VolatileKey&) = delete;
  VolatileKey& operator=(const VolatileKey&) = delete;

  transport::Rkey rkey() const { return key_; }

  void add_user(User& user, std::uint64_t wr_id) { uses_.push_back({&user, wr_id}); }
  void remove_user(std::uint64_t wr_id) {
    std::erase_if(uses_, [wr_id](const Use& use) { return use.wr_id == wr_id; });
  }

  /// Deregisters the region, tells its users and registers it again. Returns how many there were.
  std::size_t renew() {
    host_.deregister_volatile();
    const std::vector<Use> uses = std::exchange(uses_, {});
    for (const Use& use : uses) use.user->on_key_gone(use.wr_id);
    key_ = host_.register_volatile();
    return uses.size();
  }

 private:
  struct Use {
    User* user = nullptr;
    std::uint64_t wr_id = 0;
  };

  Host& host_;
  transport::Rkey key_;
  std::vector<Use> uses_;
};

}  // namespace urnic::sim
