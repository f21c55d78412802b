// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What a program gets that asks for queues of a certain size, and what it is refused. */
#include <errno.h>
#include <stddef.h>

#include "observation.h"
#include "sections.h"

static struct ibv_cq* cq_of_all;

/* errno of a create with these capabilities; the queue pair is destroyed again. */
static int try_qp(const struct nic* nic, struct ibv_qp_cap* cap) {
  struct end end = {.send_cq = cq_of_all, .recv_cq = cq_of_all};
  struct ibv_qp* const qp = end_create_qp(nic, &end, cap);
  if (qp == NULL) return errno == 0 ? ENODATA : errno;
  *cap = end.cap;
  ibv_destroy_qp(qp);
  return 0;
}

static struct ibv_qp_cap caps(uint32_t wrs, uint32_t elements, uint32_t inline_bytes) {
  return (struct ibv_qp_cap){.max_send_wr = wrs,
                             .max_recv_wr = wrs,
                             .max_send_sge = elements,
                             .max_recv_sge = elements,
                             .max_inline_data = inline_bytes};
}

/* Names are cap.SIDE.WRS.ELEMENTS.INLINE.FIELD. */
static void observe_qp_sizes(const struct nic* nic) {
  static const uint32_t wrs[] = {1, 3, 16, 100, 1000};
  static const uint32_t elements[] = {1, 3, 5};
  static const uint32_t inlines[] = {0, 64, 220, 400};
  for (size_t w = 0; w < sizeof wrs / sizeof *wrs; ++w) {
    for (size_t e = 0; e < sizeof elements / sizeof *elements; ++e) {
      for (size_t i = 0; i < sizeof inlines / sizeof *inlines; ++i) {
        const uint32_t a = wrs[w], b = elements[e], c = inlines[i];
        if (a != 16 && b != 1 && c != 0) continue; /* two of three change at most */
        struct ibv_qp_cap cap = caps(a, b, c);
        const int error = try_qp(nic, &cap);
        observe_text(error_name(error), "cap.%u.%u.%u.create", a, b, c);
        const struct {
          const char* name;
          uint32_t value;
        } granted[] = {{"max_send_wr", cap.max_send_wr},
                       {"max_recv_wr", cap.max_recv_wr},
                       {"max_send_sge", cap.max_send_sge},
                       {"max_recv_sge", cap.max_recv_sge},
                       {"max_inline_data", cap.max_inline_data}};
        for (size_t g = 0; g < sizeof granted / sizeof *granted; ++g) {
          if (error == 0)
            observe_number(granted[g].value, "cap.%u.%u.%u.%s", a, b, c, granted[g].name);
          else
            observe_nothing("there is no queue pair", "cap.%u.%u.%u.%s", a, b, c, granted[g].name);
        }
      }
    }
  }
}

static void observe_cq_sizes(const struct nic* nic) {
  static const int sizes[] = {0, 1, 100, 127, 128, 1000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    errno = 0;
    struct ibv_cq* const cq = ibv_create_cq(nic->context, sizes[i], NULL, NULL, 0);
    observe_text(error_name(cq == NULL ? errno : 0), "cq.%d.create", sizes[i]);
    if (cq == NULL) {
      observe_nothing("there is no queue", "cq.%d.cqe", sizes[i]);
      continue;
    }
    observe_number((unsigned)cq->cqe, "cq.%d.cqe", sizes[i]);
    ibv_destroy_cq(cq);
  }
  errno = 0;
  struct ibv_cq* const large = ibv_create_cq(nic->context, nic->attributes.max_cqe + 1, NULL, NULL, 0);
  observe_text(error_name(large == NULL ? errno : 0), "cq.beyond.create");
  if (large != NULL) ibv_destroy_cq(large);
}

static void observe_srq_sizes(const struct nic* nic) {
  static const uint32_t wrs[] = {1, 3, 16, 100, 127, 128, 1000};
  static const uint32_t elements[] = {1, 2, 3, 5};
  for (size_t w = 0; w < sizeof wrs / sizeof *wrs; ++w) {
    for (size_t e = 0; e < sizeof elements / sizeof *elements; ++e) {
      struct ibv_srq_init_attr init = {.attr = {.max_wr = wrs[w], .max_sge = elements[e]}};
      errno = 0;
      struct ibv_srq* const srq = ibv_create_srq(nic->pd, &init);
      observe_text(error_name(srq == NULL ? errno : 0), "srq.%u.%u.create", wrs[w], elements[e]);
      if (srq == NULL) {
        observe_nothing("there is no queue", "srq.%u.%u.max_wr", wrs[w], elements[e]);
        observe_nothing("there is no queue", "srq.%u.%u.max_sge", wrs[w], elements[e]);
        continue;
      }
      observe_number(init.attr.max_wr, "srq.%u.%u.max_wr", wrs[w], elements[e]);
      observe_number(init.attr.max_sge, "srq.%u.%u.max_sge", wrs[w], elements[e]);
      ibv_destroy_srq(srq);
    }
  }
}

/* Names say what the queue pair has; everything else is small. */
static void observe_limits(const struct nic* nic) {
  const uint32_t most = (uint32_t)nic->attributes.max_qp_wr;
  const uint32_t elements = (uint32_t)nic->attributes.max_sge;
  const struct {
    const char* name;
    struct ibv_qp_cap cap;
  } tries[] = {
      {"send_wr_8192", {8192, 1, 1, 1, 0}},
      {"send_wr_8193", {8193, 1, 1, 1, 0}},
      {"send_wr_beyond", {most + 1, 1, 1, 1, 0}},
      {"recv_wr_most", {1, most, 1, 1, 0}},
      {"recv_wr_beyond", {1, most + 1, 1, 1, 0}},
      {"send_sge_most", {1, 1, elements, 1, 0}},
      {"send_sge_beyond", {1, 1, elements + 1, 1, 0}},
      {"recv_sge_most", {1, 1, 1, elements, 0}},
      {"recv_sge_33", {1, 1, 1, 33, 0}},
      {"inline_101", {1, 1, 1, 1, 101}},
      {"inline_102", {1, 1, 1, 1, 102}},
      {"inline_512", {1, 1, 1, 1, 512}},
      {"inline_4096", {1, 1, 1, 1, 4096}},
  };
  for (size_t i = 0; i < sizeof tries / sizeof *tries; ++i) {
    struct ibv_qp_cap cap = tries[i].cap;
    observe_text(error_name(try_qp(nic, &cap)), "create.%s", tries[i].name);
  }
}

void observe_sizes(const struct nic* nic) {
  cq_of_all = ibv_create_cq(nic->context, COMPLETIONS, NULL, NULL, 0);
  if (cq_of_all == NULL) {
    observe_nothing("there is no completion queue", "cap.16.1.0.create");
    return;
  }
  observe_qp_sizes(nic);
  observe_cq_sizes(nic);
  observe_srq_sizes(nic);
  observe_limits(nic);
  ibv_destroy_cq(cq_of_all);
}
