// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FullWays: the queue pairs that wait for room on one way out of the port.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/options.hpp>
#include <cstddef>
#include <list>

#include "nic/queues/queue_pair.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// A queue pair is in one list at most, and can be taken out of it without knowing which one it is.
using QpList =
    boost::intrusive::list<QpSchedule,
                           boost::intrusive::member_hook<QpSchedule, QpSchedule::Hook, &QpSchedule::hook>,
                           boost::intrusive::constant_time_size<false>>;

/// A way belongs to one station and has its MAC for a name, or it is the one of all stations that have none
/// of their own: broadcast. The ways take turns. On each, queue pairs wait in the order in which they came,
/// and those that have a response pending before others.
///
/// A way that is looked at and not full any more is no longer one of these. All calls under the engine lock;
/// none allocates, except expect().
class FullWays {
 public:
  struct Way {
    transport::wire::Mac name;
    QpList responding;
    QpList sending;
  };

  /// There will be no more than `count` queue pairs.
  void expect(std::size_t count);

  std::size_t count() const { return full_.size(); }
  /// The one that was longest not looked at. There is one.
  Way& first() { return full_.front(); }
  /// After a look: it is still full.
  void keep_first() { full_.splice(full_.end(), full_, full_.begin()); }
  /// After a look: it is not. No queue pair waits there any more.
  void drop_first();
  /// The way of that name, which is full from now on if it was not.
  Way& at(const transport::wire::Mac& name);

  /// Whether this holds for any queue pair that waits here.
  template <typename Condition>
  bool any_of(const Condition& condition) const {
    for (const Way& way : full_) {
      for (const QpList* const list : {&way.responding, &way.sending}) {
        for (const QpSchedule& schedule : *list) {
          if (condition(schedule)) return true;
        }
      }
    }
    return false;
  }

 private:
  void spare_an_empty_one();

  std::list<Way> full_;
  std::list<Way> spare_;
};

}  // namespace urnic::nic
