// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which sanitizer the tests were compiled with.
#pragma once

namespace urnic {

/// For tests of what takes AddressSanitizer too long, and of what it cannot follow: it does not know that the
/// stack of a cancelled thread was unwound, and complains when the thread ends.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kHasAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

/// Any of those that look at each access to memory.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kIsSanitized = kHasAddressSanitizer || __has_feature(thread_sanitizer);
#else
inline constexpr bool kIsSanitized = kHasAddressSanitizer;
#endif

}  // namespace urnic
