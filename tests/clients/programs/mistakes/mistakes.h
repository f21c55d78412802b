// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Each makes the mistake that it is named after, which is a finding of the sanitizer. */
#ifndef TESTS_CLIENTS_MISTAKES_MISTAKES_H
#define TESTS_CLIENTS_MISTAKES_MISTAKES_H

void none(void);
void read_without_fence(void);
void fence_on_the_wrong_request(void);
void element_outside_its_region(void);
void unknown_local_key(void);
void remote_key_as_local_key(void);
void other_protection_domain(void);
void local_right_missing(void);
void misaligned_atomic(void);
void receive_without_header_room(void);
void overlapping_targets(void);
void overlapping_targets_of_receives(void);
void order_between_queue_pairs(void);
void work_request_id_outstanding_twice(void);
void message_too_long_elsewhere(void);
void send_queue_never_drained(void);
void receive_queue_never_drained(void);
void room_not_requested(void);
void granted_room_used(void);
void granted_room_used_inline(void);
void completion_queue_too_small(void);
void completion_queue_overrun(void);
void receive_queue_never_drained_shared(void);
void buffer_changed_before_completion(void);
void post_in_wrong_state(void);
void region_deregistered_in_use(void);
void address_handle_destroyed_in_use(void);
void destroyed_with_work_outstanding(void);
void destroyed_before_last_wqe_event(void);
void waits_for_destroyed_queue_pair(void);
void events_not_acknowledged(void);
void used_after_destroy(void);
void used_after_destroy_by_a_post(void);
void accepted_requests_posted_again(void);
void refused_request_waited_for(void);
void unknown_send_flags(void);
void undefined_field_read(void);
void vendor_error_read(void);
void immediate_in_host_order(void);
void two_threads_at_once(void);
void sleep_with_completions_waiting(void);
void fatal_event_unread(void);
void event_unread(void);
void responder_resources_exceeded(void);
void region_deregistered_under_peer(void);
void stale_remote_key(void);
void remote_right_missing(void);
void failed_queue_pair_unnoticed(void);
void byte_swapped_address(void);
void memory_gone_while_registered(void);
void receive_posted_late(void);
void datagram_dropped(void);
void srq_limit_not_armed_again(void);
void atomic_changed_otherwise(void);
void no_ack_timeout(void);
void attribute_not_set(void);
void address_without_grh(void);
void gid_of_other_kind(void);
void path_mtu_above_active_mtu(void);
void retry_count_out_of_range(void);
void short_ack_timeout(void);
void no_retries(void);
void more_than_some_nics_have(void);
void missing_on_some_nics(void);
void more_than_memlock(void);
void memory_unmapped_under_region(void);
void file_backed_memory(void);
void fork_with_registered_memory(void);
void registration_per_message(void);

/* Comes before more_than_memlock(). */
void limit_locked_memory(void);

#endif
