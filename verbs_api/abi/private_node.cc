// The private node. Drivers of rdma-core (libmlx5, libefa) are linked to it, and perftest, libfabric, UCX and
// pyverbs to them: the names must be there for those programs to load, although no driver ever gets a device
// from us. ibv_query_gid_type (gid.cc) and ibv_wr_opcode_str (strings.cc) are of this node, too, and real.
#include <cerrno>
#include <cstddef>

#include "verbs_api/abi/libibverbs.h"

#pragma GCC visibility push(default)

extern "C" {

// libmlx5 takes its address.
extern bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy = false;

// Called by constructors of drivers, with their operations, for a search over devices that will not take
// place.
void verbs_register_driver_34(const void*) {}

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
int ibv_cmd_advise_mr() {
  return EOPNOTSUPP;
}
int ibv_cmd_alloc_dm() {
  return EOPNOTSUPP;
}
int ibv_cmd_alloc_mw() {
  return EOPNOTSUPP;
}
int ibv_cmd_alloc_pd() {
  return EOPNOTSUPP;
}
int ibv_cmd_attach_mcast() {
  return EOPNOTSUPP;
}
int ibv_cmd_close_xrcd() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_ah() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_counters() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_cq() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_cq_ex() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_cq_ex2() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_flow() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_flow_action_esp() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_qp() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_qp_ex() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_qp_ex2() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_rwq_ind_table() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_srq() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_srq_ex() {
  return EOPNOTSUPP;
}
int ibv_cmd_create_wq() {
  return EOPNOTSUPP;
}
int ibv_cmd_dealloc_mw() {
  return EOPNOTSUPP;
}
int ibv_cmd_dealloc_pd() {
  return EOPNOTSUPP;
}
int ibv_cmd_dereg_mr() {
  return EOPNOTSUPP;
}
int ibv_cmd_destroy_ah() {
  return EOPNOTSUPP;
}
int ibv_cmd_destroy_counters() {
  return EOPNOTSUPP;
}
int ibv_cmd_destroy_cq() {
  return EOPNOTSUPP;
}
int ibv_cmd_destroy_flow() {
  return EOPNOTSUPP;
}
int ibv_cmd_destroy_flow_action() {
  return EOPNOTSUPP;
}
int ibv_cmd_destroy_qp() {
  return EOPNOTSUPP;
}
int ibv_cmd_destroy_rwq_ind_table() {
  return EOPNOTSUPP;
}
int ibv_cmd_destroy_srq() {
  return EOPNOTSUPP;
}
int ibv_cmd_destroy_wq() {
  return EOPNOTSUPP;
}
int ibv_cmd_detach_mcast() {
  return EOPNOTSUPP;
}
int ibv_cmd_free_dm() {
  return EOPNOTSUPP;
}
int ibv_cmd_get_context() {
  return EOPNOTSUPP;
}
int ibv_cmd_modify_cq() {
  return EOPNOTSUPP;
}
int ibv_cmd_modify_flow_action_esp() {
  return EOPNOTSUPP;
}
int ibv_cmd_modify_qp() {
  return EOPNOTSUPP;
}
int ibv_cmd_modify_qp_ex() {
  return EOPNOTSUPP;
}
int ibv_cmd_modify_srq() {
  return EOPNOTSUPP;
}
int ibv_cmd_modify_wq() {
  return EOPNOTSUPP;
}
int ibv_cmd_open_qp() {
  return EOPNOTSUPP;
}
int ibv_cmd_open_xrcd() {
  return EOPNOTSUPP;
}
int ibv_cmd_poll_cq() {
  return EOPNOTSUPP;
}
int ibv_cmd_post_recv() {
  return EOPNOTSUPP;
}
int ibv_cmd_post_send() {
  return EOPNOTSUPP;
}
int ibv_cmd_post_srq_recv() {
  return EOPNOTSUPP;
}
int ibv_cmd_query_context() {
  return EOPNOTSUPP;
}
int ibv_cmd_query_device_any() {
  return EOPNOTSUPP;
}
int ibv_cmd_query_mr() {
  return EOPNOTSUPP;
}
int ibv_cmd_query_port() {
  return EOPNOTSUPP;
}
int ibv_cmd_query_qp() {
  return EOPNOTSUPP;
}
int ibv_cmd_query_srq() {
  return EOPNOTSUPP;
}
int ibv_cmd_read_counters() {
  return EOPNOTSUPP;
}
int ibv_cmd_reg_dm_mr() {
  return EOPNOTSUPP;
}
int ibv_cmd_reg_dmabuf_mr() {
  return EOPNOTSUPP;
}
int ibv_cmd_reg_mr() {
  return EOPNOTSUPP;
}
int ibv_cmd_req_notify_cq() {
  return EOPNOTSUPP;
}
int ibv_cmd_rereg_mr() {
  return EOPNOTSUPP;
}
int ibv_cmd_resize_cq() {
  return EOPNOTSUPP;
}

}  // extern "C"

#pragma GCC visibility pop
