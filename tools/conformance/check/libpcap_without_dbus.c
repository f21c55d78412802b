/* libpcap can record what D-Bus carries, and needs libdbus and libsystemd for it. In a program that reads files alone these two, which libpcap asks about a
 * device that is to be recorded, say that it is none of D-Bus'. The linker finds them before those of libpcap. */
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
