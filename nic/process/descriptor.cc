// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/process/descriptor.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/options.hpp>
#include <map>
#include <mutex>
#include <utility>

// System calls and not the C library's functions of the same name, which librspreload replaces.

namespace urnic::nic {
namespace {

bool is_that_file(int fd, dev_t device, ino_t inode) {
  struct stat status {};
  return syscall(SYS_fstat, static_cast<long>(fd), &status) == 0 && status.st_dev == device &&
         status.st_ino == inode;
}

}  // namespace

/// All that this process has. Descriptors are the process's, and so is this.
struct DescriptorList {
  using List = boost::intrusive::list<
      Descriptor,
      boost::intrusive::member_hook<Descriptor, boost::intrusive::list_member_hook<>, &Descriptor::in_list_>,
      boost::intrusive::constant_time_size<false>>;

  std::mutex fork_mutex;  // before the other, and held while a fork happens, or must not
  std::mutex mutex;
  List list;  // under the mutex

  static DescriptorList& instance() {
    // Never destroyed: whatever runs last in the process may close one.
    static auto* const instance = new DescriptorList;
    return *instance;
  }
  void add(Descriptor& descriptor) { list.push_back(descriptor); }
  void remove(Descriptor& descriptor) { list.erase(list.iterator_to(descriptor)); }
};

Descriptor::Descriptor(int fd) : fd_(fd) {
  if (fd < 0) return;
  struct stat status {};
  if (syscall(SYS_fstat, static_cast<long>(fd), &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  DescriptorList& own = DescriptorList::instance();
  const std::lock_guard lock(own.mutex);
  own.add(*this);
}

Descriptor::Descriptor(Descriptor&& other) noexcept {
  take_over(other);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  reset();
  take_over(other);
  return *this;
}

void Descriptor::take_over(Descriptor& other) noexcept {
  if (other.fd_ < 0) return;
  DescriptorList& own = DescriptorList::instance();
  const std::lock_guard lock(own.mutex);
  own.remove(other);
  fd_ = std::exchange(other.fd_, -1);
  device_ = other.device_;
  inode_ = other.inode_;
  own.add(*this);
}

int Descriptor::release() {
  if (fd_ < 0) return -1;
  DescriptorList& own = DescriptorList::instance();
  const std::lock_guard lock(own.mutex);
  own.remove(*this);
  return std::exchange(fd_, -1);
}

// Out of the list first: once it is closed, another thread's file may have the number.
void Descriptor::reset() {
  const int fd = release();
  if (fd >= 0) syscall(SYS_close, static_cast<long>(fd));
}

void keep_from_children(int fd) {
  // Never destroyed, as the list. A number may come again, for another file.
  static std::mutex* const mutex = new std::mutex;
  static auto* const libraries = new std::map<int, Descriptor>;
  const std::lock_guard lock(*mutex);
  Descriptor& known = (*libraries)[fd];
  static_cast<void>(known.release());
  known = Descriptor(fd);
}

ForkPause::ForkPause() {
  DescriptorList::instance().fork_mutex.lock();
}

ForkPause::~ForkPause() {
  DescriptorList::instance().fork_mutex.unlock();
}

void OwnDescriptors::lock() {
  DescriptorList::instance().fork_mutex.lock();
  DescriptorList::instance().mutex.lock();
}

void OwnDescriptors::unlock() {
  DescriptorList::instance().mutex.unlock();
  DescriptorList::instance().fork_mutex.unlock();
}

void OwnDescriptors::close_in_child() {
  DescriptorList& own = DescriptorList::instance();
  while (!own.list.empty()) {
    Descriptor& descriptor = own.list.front();
    own.remove(descriptor);
    const int fd = std::exchange(descriptor.fd_, -1);
    if (is_that_file(fd, descriptor.device_, descriptor.inode_)) syscall(SYS_close, static_cast<long>(fd));
  }
}

}  // namespace urnic::nic
