// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PeerProbes: which of the hosts that ids want to reach are there.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "nic/port/host_probe.h"
#include "transport/time.h"
#include "transport/wire/address.h"

namespace urnic::nic::rdma_cm {

/// Ids that go to one host share a probe. After its host was found, the probe is looked at again and again
/// for a moment, because what ICMP says of a closed port comes then. Where the NIC's addresses are its own,
/// and for what is not asked, every host is found.
///
/// All calls under the engine lock.
class PeerProbes {
 public:
  using Seen = HostProbe::Seen;

  void use(HostProbes probes) { send_ = std::move(probes); }

  /// A program wants to reach that host. An earlier error is no answer.
  void ask(const Way& way, transport::Time now);
  /// What is known of `destination` as it is reached from `source`.
  Seen seen(const transport::wire::Gid& source, const transport::wire::Gid& destination) const;

  /// Returns whether anything is known that was not known before.
  bool on_timeout(transport::Time now);
  transport::Time next_timeout() const;

 private:
  struct Entry {
    Way way;
    std::unique_ptr<HostProbe> probe;
    Seen seen;
    transport::Duration pause{};
    transport::Time next_look{};
    transport::Time until{};  ///< forgotten then; while the kernel asks for the next hop, which ends, never
  };
  /// Each has a descriptor of the program's process.
  static constexpr std::size_t kMost = 64;

  const Entry* find(const transport::wire::Gid& source, const transport::wire::Gid& destination) const;
  void look(Entry& entry, transport::Time now) const;

  HostProbes send_;
  std::vector<Entry> entries_;
};

}  // namespace urnic::nic::rdma_cm
