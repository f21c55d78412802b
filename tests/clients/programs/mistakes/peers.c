// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Mistakes that show when a peer sends. */
#include <endian.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mistakes.h"
#include "pair.h"
#include "test_client.h"

/* Memory that is registered beside the objects' own. */
static struct ibv_mr* register_more(int access) {
  struct ibv_mr* const mr = ibv_reg_mr(nic.pd, nic.memory, kBytes, access);
  if (mr == NULL) broken("ibv_reg_mr: %m");
  return mr;
}

/* A WRITE to the far side, which refuses it. */
static void write_in_vain(uint32_t rkey, uint64_t address) {
  struct ibv_sge element = {.addr = place(1), .length = kPiece, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {
      .sg_list = &element, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
  request.wr.rdma.remote_addr = address;
  request.wr.rdma.rkey = rkey;
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(near_qp, &request, &bad) != 0) broken("ibv_post_send: %m");
  if (poll_completions(1) == IBV_WC_SUCCESS) broken("the WRITE is carried out");
}

void responder_resources_exceeded(void) {
  struct connection near_wants = usual_connection(kTimeout);
  struct connection far_wants = near_wants;
  near_wants.reads = 4;
  far_wants.dest_reads = 1;
  connect_pair_as(8, 1, &near_wants, &far_wants);
  for (unsigned i = 0; i < 4; ++i)
    post_keyed(IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, place(0), kBytes / 2, nic.mr->lkey, place(512));
  poll_completions(4);
  disconnect_pair();
}

void region_deregistered_under_peer(void) {
  struct ibv_mr* const mr = register_more(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  const uint32_t rkey = mr->rkey;
  connect_pair(8, 1, kTimeout);
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
  write_in_vain(rkey, place(200));
  disconnect_pair();
}

void stale_remote_key(void) {
  struct ibv_mr* const mr = register_more(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  const uint32_t rkey = mr->rkey;
  connect_pair(8, 1, kTimeout);
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
  usleep(1200000);
  write_in_vain(rkey, place(200));
  disconnect_pair();
}

void remote_right_missing(void) {
  struct ibv_mr* const mr = register_more(IBV_ACCESS_LOCAL_WRITE);
  connect_pair(8, 1, kTimeout);
  write_in_vain(mr->rkey, place(200));
  disconnect_pair();
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
}

void failed_queue_pair_unnoticed(void) {
  struct ibv_mr* const mr = register_more(IBV_ACCESS_LOCAL_WRITE);
  connect_pair(8, 1, kTimeout);
  write_in_vain(mr->rkey, place(200));
  sleep(3);
  disconnect_pair();
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
}

void byte_swapped_address(void) {
  connect_pair(8, 1, kTimeout);
  write_in_vain(nic.mr->rkey, htobe64(place(200)));
  disconnect_pair();
}

void memory_gone_while_registered(void) {
  void* const memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) broken("mmap: %m");
  struct ibv_mr* const mr =
      ibv_reg_mr(nic.pd, memory, kBytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (mr == NULL) broken("ibv_reg_mr: %m");
  connect_pair(8, 1, kTimeout);
  if (munmap(memory, kBytes) != 0) broken("munmap: %m");
  write_in_vain(mr->rkey, (uintptr_t)memory);
  disconnect_pair();
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
}

void receive_posted_late(void) {
  connect_pair(8, 1, kTimeout);
  post(IBV_WR_SEND, IBV_SEND_SIGNALED, 1, 0);
  wait_a_moment();
  if (post_receive(far_qp, kPiece) != 0) broken("ibv_post_recv: %m");
  expect(poll_completions(2), IBV_WC_SUCCESS);
  disconnect_pair();
}

void datagram_dropped(void) {
  struct ibv_ah* const handle = send_datagram();
  expect(poll_completions(1), IBV_WC_SUCCESS);
  wait_a_moment();
  if (ibv_destroy_ah(handle) != 0) broken("ibv_destroy_ah: %m");
  if (ibv_destroy_qp(near_qp) != 0) broken("ibv_destroy_qp: %m");
}

void atomic_changed_otherwise(void) {
  volatile uint64_t* const counter = (uint64_t*)(uintptr_t)place(200);
  struct ibv_mr* const mr = register_more(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  connect_pair(8, 1, kTimeout);
  struct ibv_sge element = {.addr = place(1), .length = sizeof *counter, .lkey = nic.mr->lkey};
  struct ibv_send_wr request = {.sg_list = &element,
                                .num_sge = 1,
                                .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                                .send_flags = IBV_SEND_SIGNALED};
  request.wr.atomic.remote_addr = place(200);
  request.wr.atomic.rkey = mr->rkey;
  request.wr.atomic.compare_add = 1;
  struct ibv_send_wr* bad = NULL;
  for (unsigned i = 0; i < 2; ++i) {
    if (ibv_post_send(near_qp, &request, &bad) != 0) broken("ibv_post_send: %m");
    expect(poll_completions(1), IBV_WC_SUCCESS);
    *counter += 10;
  }
  sleep(1);
  disconnect_pair();
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
}
