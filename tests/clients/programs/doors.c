// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Goes to the files of a device by every function of the C library that finds files, and prints what each
 * sees, in the same way whether the kernel has the files or a library leads there. The name of the device is
 * its argument. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_client.h"

static char device[64];         /* /sys/class/infiniband/NAME */
static const char* name;        /* NAME */
static unsigned seen;           /* entries of a walk */
static unsigned long names_sum; /* of what is in their paths */

static void count(const char* path) {
  ++seen;
  for (; *path != '\0'; ++path) names_sum = names_sum * 31 + (unsigned char)*path;
}

static void begin(const char* door) {
  seen = 0;
  names_sum = 0;
  printf("%s:", door);
}

static void show_text(int fd) {
  char text[256];
  if (fd < 0) {
    printf(" %s\n", strerror(errno));
    return;
  }
  const ssize_t length = read(fd, text, sizeof text);
  printf(" %.*s", length > 0 ? (int)length : 0, text);
  close(fd);
}

/* Whether a folder has the device's entry, and that entry. */
static void show_entry(DIR* folder, const char* wanted) {
  if (folder == NULL) broken("opendir: %m");
  unsigned found = 0;
  for (const struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (strcmp(entry->d_name, wanted) == 0) ++found;
  }
  rewinddir(folder);
  unsigned again = 0;
  for (const struct dirent* entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (strcmp(entry->d_name, wanted) == 0) ++again;
  }
  printf(" %s %u, after rewinddir %u\n", wanted, found, again);
  closedir(folder);
}

static void list_folders(void) {
  struct dirent** names = NULL;
  begin("scandir of the class");
  int length = scandir("/sys/class/infiniband", &names, NULL, alphasort);
  for (int i = 0; i < length; ++i) printf(" %s", names[i]->d_name);
  printf("\n");
  begin("scandir of the classes");
  length = scandir("/sys/class", &names, NULL, alphasort);
  for (int i = 0; i < length; ++i) {
    if (strncmp(names[i]->d_name, "infiniband", 10) == 0) printf(" %s", names[i]->d_name);
  }
  printf("\n");
  begin("scandirat");
  const int sys = open("/sys", O_RDONLY | O_DIRECTORY);
  length = scandirat(sys, "class/infiniband", &names, NULL, alphasort);
  printf(" %d", length);
  length = scandirat(sys, "class/infiniband_verbs", &names, NULL, alphasort);
  for (int i = 0; i < length; ++i) printf(" %s", names[i]->d_name);
  printf("\n");
  begin("opendir of the classes");
  show_entry(opendir("/sys/class"), "infiniband");
  begin("opendir of /dev");
  show_entry(opendir("/dev"), "infiniband");
  begin("fdopendir");
  show_entry(fdopendir(openat(sys, "class", O_RDONLY | O_DIRECTORY)), "infiniband_verbs");
  close(sys);
}

static void show_glob(const char* pattern, int flags) {
  glob_t found;
  memset(&found, 0, sizeof found);
  const int result = glob(pattern, flags, NULL, &found);
  printf(" %d", result);
  for (size_t i = 0; i < found.gl_pathc; ++i) printf(" %s", found.gl_pathv[i]);
  printf("\n");
  globfree(&found);
}

static void match_patterns(void) {
  begin("glob");
  show_glob("/sys/class/infiniband/*/ports/*/rate", 0);
  begin("glob of the classes");
  show_glob("/sys/class/infini*/*", GLOB_MARK);
  begin("glob of nothing");
  show_glob("/sys/class/infiniband/*/no*thing", GLOB_NOCHECK);
  begin("glob elsewhere");
  show_glob("/etc/pass*d", 0);
}

static int visit(const char* path, const struct stat* status, int kind, struct FTW* where) {
  (void)status;
  count(path);
  if (strcmp(path + where->base, "cap_mask") == 0) printf(" %s is a file: %d;", path, kind == FTW_F);
  return 0;
}

static int visit_simply(const char* path, const struct stat* status, int kind) {
  (void)status;
  (void)kind;
  count(path);
  return 0;
}

/* Into the device itself: the class has links to devices, which FTW_PHYS does not follow. */
static void walk_trees(void) {
  char inside[PATH_MAX];
  snprintf(inside, sizeof inside, "%s/ports", device);
  begin("nftw");
  int result = nftw(inside, visit, 8, FTW_PHYS);
  printf(" %d, entries: %d\n", result, seen > 60);
  begin("nftw of the class");
  result = nftw("/sys/class/infiniband", visit, 8, FTW_PHYS);
  printf(" %d, entries: %u, %lx\n", result, seen, names_sum);
  begin("ftw");
  result = ftw(inside, visit_simply, 8);
  printf(" %d, entries: %d\n", result, seen > 60);

  begin("fts");
  char class[] = "/sys/class/infiniband";
  char* const roots[] = {inside, class, "/etc/hostname", NULL};
  FTS* const walk = fts_open(roots, FTS_PHYSICAL, NULL);
  if (walk == NULL) broken("fts_open: %m");
  unsigned errors = 0;
  for (FTSENT* entry = fts_read(walk); entry != NULL; entry = fts_read(walk)) {
    if (entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR) ++errors;
    if (strlen(entry->fts_path) != entry->fts_pathlen)
      broken("%s has %d characters", entry->fts_path, entry->fts_pathlen);
    if (strcmp(entry->fts_name, "cap_mask") == 0)
      printf(" %s of %s;", entry->fts_path, entry->fts_parent->fts_name);
    if (strcmp(entry->fts_name, name) == 0)
      printf(" %s is a link: %d;", entry->fts_path, entry->fts_info == FTS_SL);
    ++seen;
  }
  printf(" errors %u, entries: %d, closed %d\n", errors, seen > 60, fts_close(walk));
}

static void go_there(void) {
  char text[PATH_MAX];
  begin("chdir");
  printf(" %d", chdir("/sys/class/infiniband"));
  printf(" %s\n", getcwd(text, sizeof text));
  begin("relative to it");
  snprintf(text, sizeof text, "%s/ports/1/rate", name);
  show_text(open(text, O_RDONLY));
  begin("chdir through the link");
  printf(" %d", chdir(device));
  char* const allocated = getcwd(NULL, 0);
  printf(" %s %s\n", allocated, realpath("device", text));
  free(allocated);
  begin("fchdir");
  const int classes = open("/sys/class", O_RDONLY | O_DIRECTORY);
  printf(" %d", fchdir(classes));
  show_text(open("infiniband_verbs/uverbs0/ibdev", O_RDONLY));
  if (chdir("/") != 0) broken("chdir: %m");

  struct stat status;
  begin("relative to a folder");
  snprintf(text, sizeof text, "infiniband/%s/ports/1/state", name);
  show_text(openat(classes, text, O_RDONLY));
  begin("fstatat");
  printf(" %d", fstatat(classes, "infiniband", &status, 0));
  printf(" %d\n", fstatat(classes, "infiniband/none", &status, 0));
  begin("faccessat");
  printf(" %d %d\n", faccessat(classes, text, R_OK, 0), faccessat(classes, "infiniband_none", R_OK, 0));
  begin("readlinkat");
  snprintf(text, sizeof text, "infiniband/%s/device", name);
  char target[PATH_MAX];
  const ssize_t length = readlinkat(classes, text, target, sizeof target);
  printf(" %.*s\n", length > 0 ? (int)length : 0, target);
  begin("through an open folder of it");
  const int ports = openat(classes, "infiniband", O_RDONLY | O_DIRECTORY);
  snprintf(text, sizeof text, "%s/ports/1/sm_sl", name);
  show_text(openat(ports, text, O_RDONLY));
  close(ports);
  close(classes);
}

static void show_path(const char* path) {
  char text[PATH_MAX];
  printf("%s: %s\n", path, realpath(path, text) == NULL ? strerror(errno) : text);
}

/* The device's name is a link, so that ".." after it leads to its card, as NCCL and Mooncake know. */
static void show_paths(void) {
  char path[PATH_MAX];
  show_path(device);
  snprintf(path, sizeof path, "%s/device", device);
  show_path(path);
  snprintf(path, sizeof path, "%s/../..", device);
  show_path(path);
  snprintf(path, sizeof path, "//sys/./class//infiniband/%s/fw_ver", name);
  show_path(path);
  snprintf(path, sizeof path, "%s/none", device);
  show_path(path);
  show_path("/sys/class/infinibands");
  show_path("/sys/class/infiniband_verbs/uverbs0/device");
}

/* Sysfs has files that cannot be written, and takes no new ones. */
static void write_there(void) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/ports/1/counters/port_xmit_data", device);
  begin("writing a counter");
  printf(" %d", open(path, O_WRONLY | O_TRUNC) < 0);
  printf(" %d", open(path, O_RDWR) < 0);
  snprintf(path, sizeof path, "%s/new", device);
  printf(" %d\n", open(path, O_WRONLY | O_CREAT, 0644) < 0);
}

int main(int argc, char** argv) {
  if (argc != 2) broken("usage: doors DEVICE");
  name = argv[1];
  snprintf(device, sizeof device, "/sys/class/infiniband/%s", name);
  list_folders();
  match_patterns();
  walk_trees();
  go_there();
  show_paths();
  write_there();
  return 0;
}
