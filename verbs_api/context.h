// Context: a device that a program has opened.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "nic/device.h"
#include "verbs_api/async_events.h"
#include "verbs_api/command_file.h"
#include "verbs_api/libibverbs.h"

namespace urnic::verbs_api {

class Ah;
struct CompChannel;
struct Cq;
struct Dm;
struct Counters;
struct Flow;
struct Mr;
struct Mw;
struct Pd;
struct Qp;
struct RwqIndTable;
struct Srq;
struct Td;
struct Wq;
struct Xrcd;

/// Begins with the block in which programs look for operations. Knows the objects made through it, so that
/// closing it ends them as the kernel would: from then on their memory is not touched any more, whether or
/// not the program destroyed them.
class Context : public verbs_context {
 public:
  /// Null and errno when descriptors or memory cannot be had.
  static Context* open(ibv_device& device, nic::Device& nic);
  /// One more on a file that is there, by another descriptor of it, which it takes over unless it fails.
  static Context* import(ibv_device& device, nic::Device& nic, std::shared_ptr<CommandFile> file, int fd);
  static Context& of(ibv_context* context) {
    return *static_cast<Context*>(reinterpret_cast<verbs_context*>(reinterpret_cast<std::byte*>(context) -
                                                                   offsetof(verbs_context, context)));
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  nic::Device& nic() const { return nic_; }
  AsyncEvents& async_events() { return async_events_; }
  /// What it shares with those that import it.
  const std::shared_ptr<CommandFile>& file() const { return file_; }

  /// Ends every object and frees the context, unless the program still holds some: then their memory stays.
  void close();

  enum class Death : std::uint8_t {
    kAlive,
    kClosed,  ///< by the program, which goes on to use objects of it
    kFork,    ///< this is a child, and the parent opened it
  };
  void die(Death why) { death_.store(why, std::memory_order_relaxed); }
  /// Whether every verb on it must fail with dead_error(), but for those that only tell what the device is,
  /// or need nothing but memory: a forked child may ask them.
  bool is_dead() const { return death_.load(std::memory_order_relaxed) != Death::kAlive; }
  bool is_closed() const { return death_.load(std::memory_order_relaxed) == Death::kClosed; }
  bool is_forked() const { return death_.load(std::memory_order_relaxed) == Death::kFork; }
  /// EIO; the first time it says why on stderr.
  int dead_error() const;

  /// Guards the sets below, and relations between their members.
  std::mutex& mutex() { return mutex_; }
  std::unordered_set<Pd*> pds;
  std::unordered_set<Mr*> mrs;
  std::unordered_set<CompChannel*> channels;
  std::unordered_set<Cq*> cqs;
  std::unordered_set<Qp*> qps;
  std::unordered_set<Srq*> srqs;
  std::unordered_set<Xrcd*> xrcds;
  std::unordered_set<Mw*> mws;
  std::unordered_set<Ah*> ahs;
  std::unordered_set<Dm*> dms;
  std::unordered_set<Td*> tds;
  std::unordered_set<Flow*> flows;
  std::unordered_set<Counters*> counters;
  std::unordered_set<Wq*> wqs;
  std::unordered_set<RwqIndTable*> tables;
  int next_table_number = 1;

 private:
  Context(ibv_device& device, nic::Device& nic, std::shared_ptr<CommandFile> file, int fd);
  ~Context();
  bool has_objects() const;

  nic::Device& nic_;
  std::shared_ptr<CommandFile> file_;
  AsyncEvents async_events_;
  std::mutex mutex_;
  std::atomic<Death> death_{Death::kAlive};
};

}  // namespace urnic::verbs_api
