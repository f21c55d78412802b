// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Actions: everything that a thread may come to do.
#pragma once

#include <span>

#include "tests/stress/chance.h"
#include "tests/stress/objects.h"

namespace urnic::stress {

/// Does something with some of the objects, with good arguments or bad ones, and lets it fail.
struct Action {
  const char* name;
  unsigned weight;
  void (*run)(Objects& objects, Chance& chance);
};

std::span<const Action> all_actions();

// The parts of all_actions() that have their own files.
std::span<const Action> frame_actions();
std::span<const Action> sharing_actions();

}  // namespace urnic::stress
