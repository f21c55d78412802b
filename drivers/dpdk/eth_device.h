// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EthDevice: one device of DPDK, virtual or a PCI card, with one receive and one transmit queue and packet
// buffers of its own.
#pragma once

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "drivers/dpdk/lent_memory.h"
#include "drivers/dpdk/link.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Made and unmade on control paths, used by one DpdkPort. Needs a running EAL.
class EthDevice {
 public:
  struct Config {
    std::string driver;            ///< e.g. "net_vhost"; the device's name is this with a number
    std::string arguments;         ///< of the driver, "key=value,..."
    std::string pci_address = {};  ///< of a card that EAL may touch; it chooses the driver then
    std::uint16_t receive_descriptors = 256;
    std::uint16_t transmit_descriptors = 256;
    std::uint16_t transmit_free_threshold = 0;   ///< 0: the driver's choice
    std::uint32_t buffers = 1024;                ///< how many frames the pool holds
    std::uint32_t buffer_bytes = 2048;           ///< the largest frame that a buffer takes
    std::uint16_t mtu = 1500;                    ///< as configured in DPDK, bytes
    bool lends = false;                          ///< rings and frame buffers are in lent_memory()
    bool interrupts = false;                     ///< link and receive interrupts, reported to the Link
    bool is_promiscuous = false;                 ///< hears frames for any MAC
    std::function<void(Link&)> on_link_up = {};  ///< see Link::create()
  };

  /// Probes, configures and starts the device, on a thread of its own (see run_shielded()).
  static Result<std::unique_ptr<EthDevice>, Error> create(const Config& config);

  EthDevice(const EthDevice&) = delete;
  EthDevice& operator=(const EthDevice&) = delete;
  /// Stops the device and frees it and its buffers: all of them must be back in the pool. Writes to sockets,
  /// so it has to run shielded, too.
  ~EthDevice();

  std::uint16_t port_id() const { return port_id_; }
  rte_mempool* pool() const { return pool_; }
  /// What the other side works in; none unless the device lends.
  const LentMemory* lent_memory() const { return lent_.get(); }
  Link& link() { return *link_; }
  const Link& link() const { return *link_; }

 private:
  EthDevice() = default;
  Result<void, Error> start(const Config& config);
  Result<void, Error> make_buffers(const Config& config, const std::string& name);
  Result<void, Error> lend_buffers(const Config& config);
  Result<void, Error> probe(const Config& config);
  Result<void, Error> probe_card(const std::string& address);
  Result<void, Error> configure(const Config& config);

  std::string name_;
  bool is_card_ = false;
  std::uint16_t port_id_ = RTE_MAX_ETHPORTS;
  rte_mempool* pool_ = nullptr;
  std::unique_ptr<LentMemory> lent_;
  std::unique_ptr<Link> link_;
};

}  // namespace urnic::drivers
