// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Makes one mistake that programs for RDMA make, by its name, which is the name of the sanitizer's finding,
 * with another word after a slash where there are several; or "none". Two queue pairs of the process are
 * connected with each other. Here each of them works: what they do wrong shows on hardware, or by bad luck.
 * Prints "done" and ends with 0. */
#include <stdio.h>
#include <string.h>

#include "mistakes.h"
#include "pair.h"

static const struct {
  const char* name;
  void (*make)(void);
  void (*prepare)(void); /* before the device is opened; may be null */
} mistakes[] = {
    {"none", none, NULL},
    {"read-without-fence", read_without_fence, NULL},
    {"fence-on-the-wrong-request", fence_on_the_wrong_request, NULL},
    {"element-outside-its-region", element_outside_its_region, NULL},
    {"unknown-local-key", unknown_local_key, NULL},
    {"remote-key-as-local-key", remote_key_as_local_key, NULL},
    {"other-protection-domain", other_protection_domain, NULL},
    {"local-right-missing", local_right_missing, NULL},
    {"misaligned-atomic", misaligned_atomic, NULL},
    {"receive-without-header-room", receive_without_header_room, NULL},
    {"overlapping-targets", overlapping_targets, NULL},
    {"overlapping-targets/receives", overlapping_targets_of_receives, NULL},
    {"order-between-queue-pairs", order_between_queue_pairs, NULL},
    {"work-request-id-outstanding-twice", work_request_id_outstanding_twice, NULL},
    {"message-too-long-elsewhere", message_too_long_elsewhere, NULL},
    {"send-queue-never-drained", send_queue_never_drained, NULL},
    {"receive-queue-never-drained", receive_queue_never_drained, NULL},
    {"room-not-requested", room_not_requested, NULL},
    {"granted-room-used", granted_room_used, NULL},
    {"granted-room-used/inline", granted_room_used_inline, NULL},
    {"completion-queue-too-small", completion_queue_too_small, NULL},
    {"completion-queue-overrun", completion_queue_overrun, NULL},
    {"receive-queue-never-drained/shared", receive_queue_never_drained_shared, NULL},
    {"buffer-changed-before-completion", buffer_changed_before_completion, NULL},
    {"post-in-wrong-state", post_in_wrong_state, NULL},
    {"region-deregistered-in-use", region_deregistered_in_use, NULL},
    {"address-handle-destroyed-in-use", address_handle_destroyed_in_use, NULL},
    {"destroyed-with-work-outstanding", destroyed_with_work_outstanding, NULL},
    {"destroyed-before-last-wqe-event", destroyed_before_last_wqe_event, NULL},
    {"waits-for-destroyed-queue-pair", waits_for_destroyed_queue_pair, NULL},
    {"events-not-acknowledged", events_not_acknowledged, NULL},
    {"used-after-destroy", used_after_destroy, NULL},
    {"used-after-destroy/post", used_after_destroy_by_a_post, NULL},
    {"accepted-requests-posted-again", accepted_requests_posted_again, NULL},
    {"refused-request-waited-for", refused_request_waited_for, NULL},
    {"unknown-send-flags", unknown_send_flags, NULL},
    {"undefined-field-read", undefined_field_read, NULL},
    {"vendor-error-read", vendor_error_read, NULL},
    {"immediate-in-host-order", immediate_in_host_order, NULL},
    {"two-threads-at-once", two_threads_at_once, NULL},
    {"sleep-with-completions-waiting", sleep_with_completions_waiting, NULL},
    {"fatal-event-unread", fatal_event_unread, NULL},
    {"event-unread", event_unread, NULL},
    {"responder-resources-exceeded", responder_resources_exceeded, NULL},
    {"region-deregistered-under-peer", region_deregistered_under_peer, NULL},
    {"stale-remote-key", stale_remote_key, NULL},
    {"remote-right-missing", remote_right_missing, NULL},
    {"failed-queue-pair-unnoticed", failed_queue_pair_unnoticed, NULL},
    {"byte-swapped-address", byte_swapped_address, NULL},
    {"memory-gone-while-registered", memory_gone_while_registered, NULL},
    {"receive-posted-late", receive_posted_late, NULL},
    {"datagram-dropped", datagram_dropped, NULL},
    {"srq-limit-not-armed-again", srq_limit_not_armed_again, NULL},
    {"atomic-changed-otherwise", atomic_changed_otherwise, NULL},
    {"no-ack-timeout", no_ack_timeout, NULL},
    {"attribute-not-set", attribute_not_set, NULL},
    {"address-without-grh", address_without_grh, NULL},
    {"gid-of-other-kind", gid_of_other_kind, NULL},
    {"path-mtu-above-active-mtu", path_mtu_above_active_mtu, NULL},
    {"retry-count-out-of-range", retry_count_out_of_range, NULL},
    {"short-ack-timeout", short_ack_timeout, NULL},
    {"no-retries", no_retries, NULL},
    {"more-than-some-nics-have", more_than_some_nics_have, NULL},
    {"missing-on-some-nics", missing_on_some_nics, NULL},
    {"more-than-memlock", more_than_memlock, limit_locked_memory},
    {"memory-unmapped-under-region", memory_unmapped_under_region, NULL},
    {"file-backed-memory", file_backed_memory, NULL},
    {"fork-with-registered-memory", fork_with_registered_memory, NULL},
    {"registration-per-message", registration_per_message, NULL},
};

int main(int argc, char** argv) {
  const char* wanted = argc == 2 ? argv[1] : "";
  const size_t count = sizeof mistakes / sizeof *mistakes;
  size_t chosen = 0;
  while (chosen != count && strcmp(mistakes[chosen].name, wanted) != 0) ++chosen;
  if (chosen == count) {
    for (size_t i = 0; i < count; ++i) printf("%s\n", mistakes[i].name);
    return 2;
  }
  if (mistakes[chosen].prepare != NULL) mistakes[chosen].prepare();
  verbs_open(&nic, "urnic0", VERBS_IPV4_GID, kEntries, kBytes);
  mistakes[chosen].make();
  verbs_close(&nic);
  printf("done\n");
  return 0;
}
