// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DescriptorIdentity: what tells an open file from others, whose number it may get.
#pragma once

#include <sys/types.h>

#include <optional>

namespace urnic::verbs_api {

struct DescriptorIdentity {
  dev_t device = 0;
  ino_t inode = 0;

  friend bool operator==(const DescriptorIdentity&, const DescriptorIdentity&) = default;

  /// Nothing when that is no descriptor. Leaves errno alone, takes no lock and calls no function that a
  /// preloaded library may have replaced by one that asks us.
  static std::optional<DescriptorIdentity> of(int descriptor);
};

}  // namespace urnic::verbs_api
