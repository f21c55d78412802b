// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which thread may wait: none that holds an engine's lock.
#pragma once

#include <cassert>

namespace urnic::nic {

#ifdef NDEBUG

inline void note_engine_lock(int /*change*/) {}
inline void assert_may_wait() {}

#else

/// How many engines' locks this thread holds. Only EngineLock changes it.
inline thread_local int held_engine_locks = 0;

inline void note_engine_lock(int change) {
  held_engine_locks += change;
}

/// Whatever waits for another process, for a thread or for a time calls it: with an engine's lock held, all
/// queue pairs of that NIC would wait as well (nic/THREADS.md, rule 2). Builds with assertions check it.
inline void assert_may_wait() {
  assert(held_engine_locks == 0 && "a thread waits, and holds an engine's lock");
}

#endif

}  // namespace urnic::nic
