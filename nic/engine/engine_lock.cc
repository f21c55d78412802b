#include "nic/engine/engine_lock.h"

#include <pthread.h>

namespace urnic::nic {

void EngineLock::lock() {
  waiting_.fetch_add(1, std::memory_order_acq_rel);
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  mutex_.lock();
  cancel_state_ = before;
  waiting_.fetch_sub(1, std::memory_order_acq_rel);
}

bool EngineLock::try_lock() {
  if (waiting_.load(std::memory_order_acquire) > 0) return false;
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  if (!mutex_.try_lock()) {
    pthread_setcancelstate(before, nullptr);
    return false;
  }
  cancel_state_ = before;
  return true;
}

void EngineLock::unlock() {
  const int before = cancel_state_;
  mutex_.unlock();
  pthread_setcancelstate(before, nullptr);
}

}  // namespace urnic::nic
