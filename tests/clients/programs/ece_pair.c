// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* One connection by rdma_cm, with a message each way, and what its queue pairs say of ECE. librdmacm does the rest.
 *
 *   ece_pair server|client ADDRESS PORT     prints 'new: WHAT' and 'connected: WHAT', of its own queue pair
 *
 * WHAT is vendor and options, hexadecimal, or 'nothing'. */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "test_client.h"

static char memory[16];

static void say_options(const char* when, struct ibv_qp* qp) {
  struct ibv_ece ece = {0};
  const int failed = ibv_query_ece(qp, &ece);
  if (failed != 0 && failed != EOPNOTSUPP) broken("ibv_query_ece: %s", strerror(failed));
  if (failed == 0) printf("%s: %x %x\n", when, ece.vendor_id, ece.options);
  if (failed != 0) printf("%s: nothing\n", when);
}

static void receive(struct rdma_cm_id* id) {
  struct ibv_wc wc;
  if (rdma_get_recv_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS) broken("rdma_get_recv_comp");
}

static void send_message(struct rdma_cm_id* id, struct ibv_mr* mr) {
  struct ibv_wc wc;
  if (rdma_post_send(id, NULL, memory, sizeof memory, mr, 0) != 0) broken("rdma_post_send: %m");
  if (rdma_get_send_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS) broken("rdma_get_send_comp: %s", ibv_wc_status_str(wc.status));
}

int main(int count, char** words) {
  const bool is_server = count == 4 && strcmp(words[1], "server") == 0;
  struct rdma_addrinfo hints = {.ai_flags = is_server ? RAI_PASSIVE : 0, .ai_port_space = RDMA_PS_TCP},
                       *address;
  struct ibv_qp_init_attr wanted = {
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  struct rdma_cm_id *endpoint, *id;
  struct ibv_mr* mr;
  if (count != 4) broken("usage: server|client ADDRESS PORT");
  if (rdma_getaddrinfo(words[2], words[3], &hints, &address) != 0) broken("rdma_getaddrinfo: %m");
  if (rdma_create_ep(&endpoint, address, NULL, &wanted) != 0) broken("rdma_create_ep: %m");
  rdma_freeaddrinfo(address);
  id = endpoint;
  if (is_server && rdma_listen(endpoint, 1) != 0) broken("rdma_listen: %m");
  if (is_server && rdma_get_request(endpoint, &id) != 0) broken("rdma_get_request: %m");
  say_options("new", id->qp);
  mr = rdma_reg_msgs(id, memory, sizeof memory);
  if (mr == NULL || rdma_post_recv(id, NULL, memory, sizeof memory, mr) != 0) broken("rdma_post_recv: %m");
  if ((is_server ? rdma_accept(id, NULL) : rdma_connect(id, NULL)) != 0)
    broken("rdma_accept, rdma_connect: %m");
  if (is_server) receive(id);
  send_message(id, mr);
  if (!is_server) receive(id);
  say_options("connected", id->qp);
  rdma_disconnect(id);
  rdma_dereg_mr(mr);
  rdma_destroy_ep(id);
  if (is_server) rdma_destroy_ep(endpoint);
  return 0;
}
