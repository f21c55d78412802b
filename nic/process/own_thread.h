// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Threads of ours: what they have in common.
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <thread>

#include "transport/result.h"

namespace urnic::nic {

/// Starts a thread of ours, named `name` (15 bytes at most), with all signals blocked (SignalBlocker), which
/// begins with run_as_own_thread(). Throws std::system_error as std::thread does.
std::thread start_own_thread(const char* name, std::function<void()> body);

/// The calling thread is one of ours from now on: it runs on the processors that the process had when this
/// library was loaded, or that were chosen since, and is scheduled as usual (SCHED_OTHER). A program may have
/// pinned the thread that starts ours, to a processor on which it spins, or have made it a real-time one.
void run_as_own_thread();

/// Chooses the processors of threads of ours that start from now on, by their numbers; for the whole process.
/// EINVAL: the process may run on none of these.
Result<void, Error> choose_own_processors(std::span<const unsigned> processors);

/// For forks: held while one happens, so that threads of ours can start in the child. Nothing waits under it.
std::mutex& own_processors_mutex();

}  // namespace urnic::nic
