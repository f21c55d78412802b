// Deeds: everything that a thread may come to do.
#pragma once

#include <span>

#include "tests/stress/chance.h"
#include "tests/stress/objects.h"

namespace urnic::stress {

/// Does something with some of the objects, with good arguments or bad ones, and lets it fail.
struct Deed {
  const char* name;
  unsigned weight;
  void (*run)(Objects& objects, Chance& chance);
};

std::span<const Deed> all_deeds();

// Those of them that have files of their own.
std::span<const Deed> frame_deeds();
std::span<const Deed> sharing_deeds();

}  // namespace urnic::stress
