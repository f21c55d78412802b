// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/shielded.h"

#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <utility>

#include "nic/process/may_wait.h"
#include "nic/process/own_thread.h"

namespace urnic::drivers {

static_assert(sizeof(pthread_t) == sizeof(unsigned long));

namespace {

thread_local bool shielded = false;

void* run_task(void* task) {
  shielded = true;
  nic::run_as_own_thread();
  (*static_cast<std::function<void()>*>(task))();
  return nullptr;
}

}  // namespace

bool on_shielded_thread() {
  return shielded;
}

Result<void, Error> ShieldedThread::start(const char* name, std::function<void()> task) {
  task_ = std::move(task);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, nullptr, run_task, &task_);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return Error{error, fmt::format("cannot start a thread: {}", std::strerror(error))};
  pthread_setname_np(thread, name);
  thread_ = thread;
  joinable_ = true;
  return success();
}

void ShieldedThread::join() {
  if (!joinable_) return;
  nic::assert_may_wait();
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_join(thread_, nullptr);
  pthread_setcancelstate(before, nullptr);
  joinable_ = false;
}

Result<void, Error> run_shielded(const std::function<void()>& task) {
  ShieldedThread thread;
  auto started = thread.start("urnic-dpdk", task);
  thread.join();
  return started;
}

}  // namespace urnic::drivers
