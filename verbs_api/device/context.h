// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Context: a device that a program has opened.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "nic/device/device.h"
#include "verbs_api/abi/command_file.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/device/async_events.h"
#include "verbs_api/device/process_device.h"
#include "verbs_api/sanitizer/ledgers/device_ledger.h"

namespace urnic::verbs_api {

/// Begins with the block in which programs look for operations. Closing it ends the objects made through it
/// (opening/close.cc) as the kernel would: from then on their memory is not touched any more, whether or not
/// the program destroyed them.
class Context : public verbs_context {
 public:
  /// Null and errno when there are no descriptors or no memory.
  static Context* open(ibv_device& device, ProcessDevice& owner);
  /// One more on a file that is there, by another descriptor of it, which it takes over unless it fails.
  static Context* import(ibv_device& device, ProcessDevice& owner, std::shared_ptr<CommandFile> file, int fd);
  static Context& of(ibv_context* context) {
    return *static_cast<Context*>(reinterpret_cast<verbs_context*>(reinterpret_cast<std::byte*>(context) -
                                                                   offsetof(verbs_context, context)));
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The device that it is of.
  ProcessDevice& owner() const { return owner_; }
  nic::Device& nic() const { return nic_; }
  AsyncEvents& async_events() { return async_events_; }
  /// What the sanitizer knows of the device; null unless it looks.
  DeviceLedger* ledgers() const;
  /// What it shares with those that import it.
  const std::shared_ptr<CommandFile>& file() const { return file_; }

  /// Frees the context, all of whose objects have ended. While the program still holds some of them its
  /// memory stays, with theirs.
  void leave();

  enum class Death : std::uint8_t {
    kAlive,
    kClosed,  ///< by the program, which goes on to use objects of it
    kFork,    ///< this is a child, and the parent opened it
  };
  void die(Death why) { death_.store(why, std::memory_order_relaxed); }
  /// Whether every verb on it must fail with dead_error(), except those that only tell what the device is, or
  /// need memory alone: a forked child may ask them. Of a context's objects the registry asks this; the data
  /// path, which does not look into the registry, and verbs that have only the context ask it themselves.
  bool is_dead() const { return death_.load(std::memory_order_relaxed) != Death::kAlive; }
  bool is_closed() const { return death_.load(std::memory_order_relaxed) == Death::kClosed; }
  bool is_forked() const { return death_.load(std::memory_order_relaxed) == Death::kFork; }
  /// EIO; the first time it says why on stderr.
  int dead_error() const;

  /// Guards relations between its objects.
  std::mutex& mutex() { return mutex_; }
  int next_table_number = 1;

 private:
  Context(ibv_device& device, ProcessDevice& owner, std::shared_ptr<CommandFile> file, int fd);
  ~Context();

  ProcessDevice& owner_;
  nic::Device& nic_;
  std::shared_ptr<CommandFile> file_;
  AsyncEvents async_events_;
  std::mutex mutex_;
  std::atomic<Death> death_{Death::kAlive};
};

}  // namespace urnic::verbs_api
