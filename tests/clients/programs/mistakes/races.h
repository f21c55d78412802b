// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Mistakes that no call shows: each relies on something that a friendly NIC does and no rule promises. Where
 * it does not hold, the program is broken(). */
#ifndef TESTS_CLIENTS_MISTAKES_RACES_H
#define TESTS_CLIENTS_MISTAKES_RACES_H

void buffer_reused_on_another_completion(void);
void flag_by_another_queue_pair(void);
void polled_so_often(void);
void all_in_one_poll(void);
void queue_pairs_in_turn(void);
void opcode_before_status(void);
void request_freed_with_queue_pair(void);
void event_within_a_limit(void);
void completion_for_each_event(void);
void armed_after_the_poll(void);
void drained_in_a_moment(void);
void one_key_for_both(void);
void attribute_not_requested(void);
void registered_in_the_data_path(void);
void every_event_is_fatal(void);
void every_datagram_arrives(void);

#endif
