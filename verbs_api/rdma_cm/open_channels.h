// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// OpenChannels: the channels that this process has open.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "transport/result.h"
#include "verbs_api/device/part_of_process.h"
#include "verbs_api/rdma_cm/channel.h"

namespace urnic::verbs_api {

/// Channels by the numbers of their descriptors. A program may close a number without our knowledge
/// (close_range), and another file may get it: a number counts only while it still names the channel. Any
/// thread.
class OpenChannels final : public PartOfProcess {
 public:
  /// Whether the number is a channel's. Any thread and signal handler; takes no lock, leaves errno alone, and
  /// costs no more than a look into a table for numbers that never were a channel's.
  static bool has(int descriptor);

  /// A descriptor of a new channel. EMFILE: its number would be too high.
  Result<int, Error> open(Channel::Devices devices, int flags);
  /// Null when the number is no channel's.
  std::shared_ptr<Channel> find(int descriptor);
  /// The program is about to close the number: ends its channel, except in the child of a fork, whose parent
  /// has it still. Does not close it.
  void close(int descriptor);

  bool is_empty() const override;

  /// What a child needs to make such an id of the channel again; the latest word counts.
  void keep(Channel& channel, const nic::rdma_cm::KeptId& id);
  /// The id has ended, or has a peer.
  void forget(Channel& channel, nic::rdma_cm::IdNumber id);
  std::vector<nic::rdma_cm::KeptId> kept(const Channel& channel) const;
  /// Of a child: `renewed` takes the place of the dead channel, at its descriptor. False: the program has
  /// closed that meanwhile.
  bool replace(const std::shared_ptr<Channel>& dead, std::shared_ptr<Channel> renewed);

  /// For forks. Held while it happens, so that the child finds a whole picture.
  std::mutex& mutex() override { return mutex_; }
  /// In the child of a fork, with the mutex held: all channels are dead there.
  void abandon_in_child() override;

 private:
  using Table = std::unordered_map<int, std::shared_ptr<Channel>>;

  /// Ends the channels that the program closed without our knowledge.
  void end_lost();
  /// Out of the table, with the mutex held.
  std::shared_ptr<Channel> take(Table::iterator entry);
  /// Ends one that is out of the table.
  void retire(std::shared_ptr<Channel> channel);

  mutable std::mutex mutex_;  // never held with another lock
  Table channels_;
  /// Dead ones that the child closed. A thread of the parent may have been at work in them: there is no
  /// taking them apart.
  std::vector<std::shared_ptr<Channel>> abandoned_;
};

/// The process's own. Any thread.
OpenChannels& open_channels();

}  // namespace urnic::verbs_api
