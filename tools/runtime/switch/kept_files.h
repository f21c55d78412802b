// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// KeptFiles: what a switch puts back into the folder of its fabric.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "nic/host/fabric_folder.h"
#include "nic/host/lease_slots.h"
#include "nic/host/lock_file.h"

namespace urnic::tools {

/// Files in the folder say which slots are taken, with which addresses, and which network the fabric has.
/// They may be removed under running programs: by a person, or by what cleans /tmp. Then the next program
/// would get a slot and an address that another one has, and a network of its own. So the switch makes them
/// again, and holds the slots for the programs that have them.
class KeptFiles {
 public:
  /// `name` is the fabric's.
  KeptFiles(std::string name, nic::FabricFolder folder)
      : name_(std::move(name)), folder_(std::move(folder)) {}

  /// The program that has that slot has come: its file is there.
  void keep(unsigned slot);
  /// It has ended.
  void forget(unsigned slot);

  /// Makes again what is missing. Waits a moment for programs that look for a slot; what cannot be made now
  /// waits for the next look.
  void look();

 private:
  struct Slot {
    nic::LeaseRecord record;
    nic::LockFile stand_in{};  // of one that was made again
  };
  bool is_complete() const;
  void make_again(unsigned number, Slot& slot) const;
  void make_network_again() const;

  const std::string name_;
  const nic::FabricFolder folder_;
  std::map<unsigned, Slot> slots_;
  std::string network_;  // what that file says; empty: not known yet
};

}  // namespace urnic::tools
