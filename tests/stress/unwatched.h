// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Unwatched: for copies that no program can order against its NIC.
#pragma once

#ifdef __SANITIZE_THREAD__
#define URNIC_UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define URNIC_UNDER_THREAD_SANITIZER 1
#endif
#endif

#ifdef URNIC_UNDER_THREAD_SANITIZER
// Of ThreadSanitizer's runtime; no header declares them.
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace urnic::stress {

/// While it lives, ThreadSanitizer does not look at what this thread reads and writes. Only around copies of
/// registered memory that the NIC may be writing at the same time. Hardware does not order the two either,
/// and what such a copy gives is the program's own affair; the objects around it stay watched.
class Unwatched {
 public:
#ifdef URNIC_UNDER_THREAD_SANITIZER
  Unwatched() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~Unwatched() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  Unwatched() {}
  ~Unwatched() {}
#endif
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;
};

}  // namespace urnic::stress
