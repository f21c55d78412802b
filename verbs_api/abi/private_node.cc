// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The private nodes. Drivers of rdma-core (libmlx5, libefa) are linked to one of them, and perftest,
// libfabric, UCX and pyverbs to the drivers: the names must be there for those programs to load, although no
// driver ever gets a device from us. rdma-core gives the node another number when one of its functions
// changes; all that it had are here, so that one library serves all (rdma_core_exports.txt).
// ibv_query_gid_type (gid.cc) and ibv_wr_opcode_str (strings.cc) are of these nodes, too, and real.
//
// Compiled without link-time optimisation, which knows no second version of a name.
#include <cerrno>
#include <cstddef>

#include "verbs_api/abi/gid_type.h"
#include "verbs_api/abi/libibverbs.h"

#pragma GCC visibility push(default)

extern "C" {

// libmlx5 takes its address.
extern bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy = false;

// Called by constructors of drivers, with their operations, for a search over devices that will not take
// place.
void verbs_register_driver_34(const void*) {}
void verbs_register_driver_57(const void*) {}
void verbs_register_driver_59(const void*) {}
void verbs_register_driver_64(const void*) {}
void verbs_register_driver_65(const void*) {}
// The same, of drivers from before the private nodes.
void ibv_register_driver(const char*, void*) {}

// libefa logs through this when it is asked about a device that is not its own.
void __verbs_log(void*, unsigned int, const char*, ...) {}

// What opens a device for a driver opens nothing.
void* _verbs_init_and_alloc_context(ibv_device*, int, std::size_t, void*, unsigned int) {
  errno = EOPNOTSUPP;
  return nullptr;
}
ibv_context* verbs_open_device(ibv_device*, void*) {
  errno = EOPNOTSUPP;
  return nullptr;
}
void verbs_set_ops(void*, const void*) {}
void verbs_uninit_context(void*) {}
void verbs_init_cq(ibv_cq*, ibv_context*, ibv_comp_channel*, void*) {}

int ibv_read_ibdev_sysfs_file(char*, std::size_t, void*, const char*, ...) {
  return -1;
}

// Commands to the kernel, of which there is none. Whatever the arguments are, they are not looked at.
int execute_ioctl(ibv_context*, void*) {
  return ENOSYS;
}
unsigned int __ioctl_final_num_attrs(unsigned int attributes, void*) {
  return attributes;
}

// What the later nodes have of these.
int ibv_query_gid_type_again(ibv_context* context, std::uint8_t port, unsigned int index,
                             ibv_gid_type_sysfs* type) {
  return ibv_query_gid_type(context, port, index, type);
}
const char* ibv_wr_opcode_str(ibv_wr_opcode);
const char* ibv_wr_opcode_str_again(ibv_wr_opcode opcode) {
  return ibv_wr_opcode_str(opcode);
}

}  // extern "C"

#include <private_nodes.inc>  // made by private_nodes.cmake

#pragma GCC visibility pop
