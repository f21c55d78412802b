// The same with SEND and RECV: request and answer are messages. The answer leaves from the table itself: no
// program copies a value.
#include "end.h"
#include "kv.h"
#include "meet.h"

// The memory of both ends: the table (the client's has one value, at its beginning), and after it a request.
enum { REQUEST = TABLE_BYTES, ALL = TABLE_BYTES + sizeof(struct request) };

static struct end end;
static struct ibv_comp_channel* channel;

static struct request* request_in_memory(void) {
  return (struct request*)(void*)(end.memory + REQUEST);
}

// --- Waiting: by polling, or asleep ---

// Another completion queue, whose completions make events, and a queue pair with it.
static void make_completions_wake(void) {
  channel = ibv_create_comp_channel(end.context);
  end.cq = ibv_create_cq(end.context, 2 * QUEUE_DEPTH, NULL, channel, 0);
  if (channel == NULL || end.cq == NULL) fail("no channel or completion queue: %m");
  end.qp = end_another_qp(&end, 0);
  end.mine.qp_number = end.qp->qp_num;
}

static struct ibv_wc next_completion(void) {
  if (!sleeps) return end_wait_for_success(&end);
  struct ibv_wc completion;
  // Asks for an event, and looks once more before it sleeps: a completion that came before the question makes
  // none.
  for (int has_asked = 0; ibv_poll_cq(end.cq, 1, &completion) == 0; has_asked = !has_asked) {
    struct ibv_cq* cq;
    void* unused;
    if (!has_asked) {
      if (ibv_req_notify_cq(end.cq, 0) != 0) fail("cannot ask for an event");
    } else {
      if (ibv_get_cq_event(channel, &cq, &unused) != 0) fail("no event: %m");
      ibv_ack_cq_events(cq, 1);
    }
  }
  if (completion.status != IBV_WC_SUCCESS) fail("status %s", ibv_wc_status_str(completion.status));
  return completion;
}

// --- The server ---

// The next request needs a place.
static void be_ready_for_a_request(void) {
  fail("GAP 1: post the receive for a request, at the offset REQUEST of the memory");
}

// Sends the value from where it is, in the table.
static void answer(const struct request* request) {
  (void)request;
  fail("GAP 2: post the SEND of the value; offset_of() says where it is");
}

void transport_serve(void) {
  for (;;) {
    while (next_completion().opcode != IBV_WC_RECV) continue;  // an answer is done
    const struct request request = *request_in_memory();
    be_ready_for_a_request();  // before the answer: when the client has that, it may ask again
    if (request.bytes == 0) return;
    answer(&request);
  }
}

// --- The client ---

const char* transport_get(const struct request* request) {
  *request_in_memory() = *request;
  const struct ibv_sge message = end_part(&end, REQUEST, sizeof *request);
  const struct ibv_sge value = end_part(&end, 0, request->bytes);
  (void)message, (void)value;
  // GAP 3: post the SEND of `message`, and the receive for `value`. Which of them first?
  fail("GAP 3: post the request, and the receive for the value");
  // GAP 4: wait until the value is there, and the request's memory is free for the next one.
  return end.memory;
}

void transport_finish(void) {
  *request_in_memory() = (struct request){0};
  end_post_send(&end, 3, end_part(&end, REQUEST, sizeof(struct request)));
  next_completion();
}

char* transport_connect(int socket) {
  end_open(&end, ALL, 0);
  if (sleeps) make_completions_wake();
  if (!is_client) be_ready_for_a_request();  // before the client may ask
  end_connect(&end, socket);
  return end.memory;
}
