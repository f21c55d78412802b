// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Pointers that a program may give as null although the C library declares that it never does.
#pragma once

namespace urnic::paths {

/// `pointer`, of which the compiler knows nothing. <fcntl.h> and others declare that their functions get no
/// null pointer. g++ believes it where such a function is defined, and removes every comparison with null, in
/// functions that it inlines there, too (-fno-delete-null-pointer-checks keeps g++ 12 from it only in part).
/// But programs do give null: Rust's standard library asks statx() whether it exists, and expects EFAULT. The
/// empty statement may have changed the pointer, for all that the compiler sees.
template <typename T>
[[nodiscard]] inline T* as_given(T* pointer) {
  asm("" : "+r"(pointer));
  return pointer;
}

}  // namespace urnic::paths
