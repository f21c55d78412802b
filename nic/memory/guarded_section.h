// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The section of code in which an instruction may fault.
//
// The handler of fault_guard.cc then goes on at urnic_after_fault, which returns false, as the kernel does
// with its exception table. That works because nothing in the section touches the stack or a register that a
// function has to keep, and every function in it returns a bool. So an access needs no preparation, and no
// thread-local variable says what to do.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define URNIC_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define URNIC_SANITIZED
#endif

/// Sanitizers are to see every access, so there is none of this code under them.
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(URNIC_SANITIZED)
#define URNIC_HAS_GUARDED_SECTION
#endif
