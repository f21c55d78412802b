// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Calls functions of the C library with null pointers where they expect a path or memory, each in a child, and prints a line for each:
 * what it returned, with errno, or the signal that ended the child. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "test_client.h"

/* Of which the compiler does not know that it is null. */
static void* volatile nothing;

static char memory[64];
static struct stat status;
static struct stat64 status64;
static struct statx statx_status;
static struct dirent** names;
static struct dirent64** names64;
static glob_t found;

/* What open and realpath become in programs that are compiled with _FORTIFY_SOURCE. */
extern int __open_2(const char*, int), __open64_2(const char*, int);
extern int __openat_2(int, const char*, int), __openat64_2(int, const char*, int);
extern char* __realpath_chk(const char*, char*, size_t);

/* Whether this is the child that makes the call. */
static bool is_child(void) {
  fflush(stdout);
  const pid_t child = fork();
  if (child < 0) broken("fork: %m");
  errno = 0;
  if (child == 0) return true;
  int ended = 0;
  if (waitpid(child, &ended, 0) != child) broken("waitpid: %m");
  if (WIFSIGNALED(ended)) printf("signal %d\n", WTERMSIG(ended));
  return false;
}

static void end_child(long returned) {
  printf("%ld, errno %d\n", returned, errno);
  exit(0);
}

#define TRY(name, ...)                                  \
  do {                                                  \
    printf("%s: ", #name);                              \
    if (is_child()) end_child((long)name(__VA_ARGS__)); \
  } while (0)

/* What stat was in programs from before glibc 2.33; new ones cannot be linked to it. */
static void try_old_stat(const char* name, void* to) {
  int (*const function)(int, const char*, void*) =
      (int (*)(int, const char*, void*))dlsym(RTLD_DEFAULT, name);
  if (function == NULL) return;
  printf("%s: ", name);
  if (is_child()) end_child(function(1, nothing, to));
}

int main(void) {
  TRY(open, nothing, O_RDONLY);
  TRY(open64, nothing, O_RDONLY);
  TRY(openat, AT_FDCWD, nothing, O_RDONLY);
  TRY(openat64, AT_FDCWD, nothing, O_RDONLY);
  TRY(__open_2, nothing, O_RDONLY);
  TRY(__open64_2, nothing, O_RDONLY);
  TRY(__openat_2, AT_FDCWD, nothing, O_RDONLY);
  TRY(__openat64_2, AT_FDCWD, nothing, O_RDONLY);
  TRY(fopen, nothing, "r");
  TRY(fopen64, nothing, "r");
  TRY(opendir, nothing);
  TRY(access, nothing, R_OK);
  TRY(faccessat, AT_FDCWD, nothing, R_OK, 0);
  TRY(euidaccess, nothing, R_OK);
  TRY(stat, nothing, &status);
  TRY(stat64, nothing, &status64);
  TRY(lstat, nothing, &status);
  TRY(lstat64, nothing, &status64);
  TRY(fstatat, AT_FDCWD, nothing, &status, 0);
  TRY(fstatat64, AT_FDCWD, nothing, &status64, 0);
  TRY(statx, AT_FDCWD, nothing, 0, STATX_BASIC_STATS, &statx_status);
  TRY(statx, 0, nothing, 0, STATX_BASIC_STATS, nothing); /* as Rust asks whether the kernel has it */
  TRY(getxattr, nothing, "user.x", memory, sizeof memory);
  TRY(lgetxattr, nothing, "user.x", memory, sizeof memory);
  TRY(listxattr, nothing, memory, sizeof memory);
  TRY(llistxattr, nothing, memory, sizeof memory);
  TRY(readlink, nothing, memory, sizeof memory);
  TRY(readlinkat, AT_FDCWD, nothing, memory, sizeof memory);
  TRY(realpath, nothing, NULL);
  TRY(__realpath_chk, nothing, memory, PATH_MAX);
  TRY(canonicalize_file_name, nothing);
  TRY(eaccess, nothing, R_OK);
  TRY(chdir, nothing);
  TRY(scandir, nothing, &names, NULL, NULL);
  TRY(scandirat, AT_FDCWD, nothing, &names, NULL, NULL);
  TRY(scandir64, nothing, &names64, NULL, NULL);
  TRY(glob, nothing, 0, NULL, &found);
  TRY(glob, "/", 0, NULL, nothing);
  TRY(nftw, nothing, nothing, 8, 0);
  TRY(fdopendir, -1);
  TRY(inotify_add_watch, -1, nothing, IN_OPEN);
  try_old_stat("__xstat", &status);
  try_old_stat("__xstat64", &status64);
  try_old_stat("__lxstat", &status);
  try_old_stat("__lxstat64", &status64);
  TRY(stat, "/", nothing);
  TRY(fstat, STDOUT_FILENO, nothing);
  TRY(fstat64, STDOUT_FILENO, nothing);
  TRY(write, STDOUT_FILENO, nothing, 1);
  return 0;
}
