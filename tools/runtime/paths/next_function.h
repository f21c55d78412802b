// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the functions of this library stand in front of.
#pragma once

#include <dlfcn.h>

#define EXPORT extern "C" [[gnu::visibility("default")]]

namespace urnic::paths {

/// The function of this name that would be called without us.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The function of this name in a library that was opened; false: there is none.
template <typename Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace urnic::paths
