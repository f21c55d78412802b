// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A thread that asks for an event of a channel which another thread has just closed.
#pragma once

#include <cstddef>

namespace urnic::verbs_api {

// The kernel lets a thread wait on whose channel is closed under it, and programs count on that: at its end
// rping closes the channel while its thread goes back to waiting, and takes an answer for a failure. A kernel
// takes so long to end a connection that the thread is always back in time. Here it may come late. It waits
// then, as if it had come before.

/// The calling thread is about to close this channel, whose number is still known as a channel's.
void note_closing(int descriptor);

/// Whether `bytes` are a command that asks for an event. Any thread and signal handler.
bool asks_for_event(const void* bytes, std::size_t size);

/// Whether `bytes` ask for an event, `descriptor` names no file or the channel that was closed last, and
/// another thread closed that less than a second ago, while it did not have O_NONBLOCK. By then the program
/// may have freed the memory where it kept the number, which can be any. Any thread and signal handler; takes
/// no lock and leaves errno alone.
bool is_late_waiter(int descriptor, const void* bytes, std::size_t size);

}  // namespace urnic::verbs_api
