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

}  // namespace urnic::paths
