// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Says how many devices it sees, and which file its libibverbs is: linked to it, or with an argument opened
// by that name.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OPENS_BY_NAME
#define GET_LIST(library) ((void* (*)(int*))dlsym(library, "ibv_get_device_list"))
#else
#include <infiniband/verbs.h>
#define GET_LIST(library) ((void)(library), (void* (*)(int*))(void*)ibv_get_device_list)
#endif

int main(int argc, char** argv) {
  void* const library = dlopen(argc > 1 ? argv[1] : NULL, RTLD_NOW);
  if (library == NULL) return printf("%s\n", dlerror()), 1;
  void* (*const get_list)(int*) = GET_LIST(library);
  int devices = 0;
  Dl_info where;
  if (get_list == NULL || get_list(&devices) == NULL || dladdr((void*)get_list, &where) == 0) return 1;
  char* const file = realpath(where.dli_fname, NULL);
  printf("devices=%d libibverbs=%s\n", devices, file);
  free(file);
  return 0;
}
