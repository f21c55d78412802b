// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* libpcap can record what D-Bus carries, and needs libdbus and libsystemd for it. Our program only reads files, so these two functions
 * stand in: libpcap asks them about a device to record, and they say that it is not D-Bus's. The linker finds them before libpcap's own. */
#include <stddef.h>

struct pcap;
struct pcap_if_list;

struct pcap* dbus_create(const char* device, char* error, int* is_ours);
struct pcap* dbus_create(const char* device, char* error, int* is_ours) {
  (void)device;
  (void)error;
  *is_ours = 0;
  return NULL;
}

int dbus_findalldevs(struct pcap_if_list* devices, char* error);
int dbus_findalldevs(struct pcap_if_list* devices, char* error) {
  (void)devices;
  (void)error;
  return 0;
}
