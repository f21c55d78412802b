// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/eth_device.h"

#include <fmt/core.h>
#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <utility>

#include "drivers/dpdk/shielded.h"

namespace urnic::drivers {

namespace {

// Drivers return -1 for what they explain in their log only; elsewhere that means EPERM.
Error driver_error(const std::string& what, int negative_errno) {
  if (negative_errno == -1) {
    return Error{EIO, fmt::format("DPDK cannot {} (URNIC_VERBOSE=1 shows its reasons)", what)};
  }
  return Error{-negative_errno, fmt::format("DPDK cannot {}: {}", what, rte_strerror(-negative_errno))};
}

constexpr std::size_t kCacheLine = 64;
// More than the driver takes for two rings of 256 entries, with what it keeps beside them.
constexpr std::size_t kRingBytes = 128 << 10;

/// Of one buffer.
std::uint16_t buffer_room(const EthDevice::Config& config) {
  return static_cast<std::uint16_t>(RTE_ALIGN(RTE_PKTMBUF_HEADROOM + config.buffer_bytes, kCacheLine));
}

}  // namespace

Result<std::unique_ptr<EthDevice>, Error> EthDevice::create(const Config& config) {
  std::unique_ptr<EthDevice> device(new EthDevice);
  std::optional<Error> error;
  const auto ran = run_shielded([&] {
    if (const auto started = device->start(config); !started) {
      error = started.error();
      device.reset();
    }
  });
  if (!ran) return ran.error();
  if (error) return *error;
  return device;
}

Result<void, Error> EthDevice::start(const Config& config) {
  auto link = Link::create(config.on_link_up);
  if (!link) return link.error();
  link_ = std::move(link.value());
  if (config.lends) {
    auto lent = LentMemory::create(kRingBytes + config.buffers * buffer_room(config));
    if (!lent) return lent.error();
    lent_ = std::move(lent.value());
  }
  const LentMemory::Use use(lent_.get());
  if (const auto probed = probe(config); !probed) return probed.error();
  return configure(config);
}

Result<void, Error> EthDevice::make_buffers(const Config& config, const std::string& name) {
  // Last in, first out: the buffers in use stay few and in the cache.
  const std::uint16_t room = config.lends ? 0 : buffer_room(config);
  pool_ = rte_pktmbuf_pool_create_by_ops(name.c_str(), config.buffers, /*cache_size=*/0, /*priv_size=*/0,
                                         room, SOCKET_ID_ANY, "stack");
  if (pool_ == nullptr) return driver_error("make packet buffers", -rte_errno);
  return config.lends ? lend_buffers(config) : success();
}

// Each descriptor of a buffer stays in DPDK's heap, which is ours alone, and the frame's bytes are elsewhere.
Result<void, Error> EthDevice::lend_buffers(const Config& config) {
  struct Room {
    std::byte* first;
    std::uint16_t bytes;
  } room{.first = nullptr, .bytes = buffer_room(config)};
  room.first = lent_->allocate(std::size_t{config.buffers} * room.bytes, kCacheLine);
  if (room.first == nullptr) return driver_error("make packet buffers", -ENOMEM);
  const auto move = [](rte_mempool*, void* argument, void* object, unsigned number) {
    const Room& it = *static_cast<const Room*>(argument);
    rte_mbuf& buffer = *static_cast<rte_mbuf*>(object);
    buffer.buf_addr = it.first + std::size_t{number} * it.bytes;
    rte_mbuf_iova_set(&buffer, reinterpret_cast<std::uintptr_t>(buffer.buf_addr));
    buffer.buf_len = it.bytes;
    rte_pktmbuf_reset_headroom(&buffer);
  };
  rte_mempool_obj_iter(pool_, move, &room);
  static_cast<rte_pktmbuf_pool_private*>(rte_mempool_get_priv(pool_))->mbuf_data_room_size = room.bytes;
  return success();
}

Result<void, Error> EthDevice::probe(const Config& config) {
  static std::atomic<unsigned> next_number = 0;
  const bool is_card = !config.pci_address.empty();
  const std::string name = fmt::format("{}{}", is_card ? "card" : config.driver, next_number++);

  if (const auto made = make_buffers(config, name); !made) return made.error();
  if (is_card) return probe_card(config.pci_address);
  const int error = rte_vdev_init(name.c_str(), config.arguments.c_str());
  if (error != 0) return driver_error(fmt::format("make the device {}", config.driver), error);
  name_ = name;
  return success();
}

// EAL has looked at the card when it started, and did not report the result.
Result<void, Error> EthDevice::probe_card(const std::string& address) {
  std::uint16_t port_id = RTE_MAX_ETHPORTS;
  const bool is_there = rte_eth_dev_get_port_by_name(address.c_str(), &port_id) == 0;
  const int error = is_there ? 0 : rte_eal_hotplug_add("pci", address.c_str(), "");
  if (error != 0) return driver_error(fmt::format("drive the PCI card {}", address), error);
  name_ = address;
  is_card_ = true;
  return success();
}

Result<void, Error> EthDevice::configure(const Config& config) {
  std::uint16_t port_id = RTE_MAX_ETHPORTS;
  int error = rte_eth_dev_get_port_by_name(name_.c_str(), &port_id);
  if (error == -ENODEV && is_card_) {
    return Error{
        ENODEV,
        fmt::format("PCI card {}: none of the DPDK drivers in here knows it (e1000, e1000e, igb, igc, ixgbe, "
                    "i40e, vmxnet3, virtio)",
                    name_)};
  }
  if (error != 0) return driver_error("find its own device", error);
  port_id_ = port_id;

  rte_eth_dev_info info{};
  error = rte_eth_dev_info_get(port_id_, &info);
  if (error != 0) return driver_error("describe its device", error);
  if (is_card_ && config.mtu > info.max_mtu) {
    return Error{EMSGSIZE, fmt::format("PCI card {}: takes packets of up to {} bytes, less than the NIC's {}",
                                       name_, info.max_mtu, config.mtu)};
  }

  rte_eth_conf conf{};
  conf.rxmode.mtu = config.mtu;
  conf.intr_conf.lsc = config.interrupts;
  conf.intr_conf.rxq = config.interrupts;
  error = rte_eth_dev_configure(port_id_, 1, 1, &conf);
  if (error != 0) return driver_error("configure its device", error);

  std::uint16_t receive_descriptors = config.receive_descriptors;
  std::uint16_t transmit_descriptors = config.transmit_descriptors;
  if (is_card_) {
    error = rte_eth_dev_adjust_nb_rx_tx_desc(port_id_, &receive_descriptors, &transmit_descriptors);
    if (error != 0) return driver_error("size the rings of its device", error);
  }
  rte_eth_txconf transmit = info.default_txconf;
  transmit.tx_free_thresh = config.transmit_free_threshold;

  error = rte_eth_rx_queue_setup(port_id_, 0, receive_descriptors, SOCKET_ID_ANY, nullptr, pool_);
  if (error != 0) return driver_error("set up its receive queue", error);
  error = rte_eth_tx_queue_setup(port_id_, 0, transmit_descriptors, SOCKET_ID_ANY, &transmit);
  if (error != 0) return driver_error("set up its transmit queue", error);

  error = rte_eth_dev_start(port_id_);
  if (error != 0) return driver_error("start its device", error);
  if (config.is_promiscuous) {
    error = rte_eth_promiscuous_enable(port_id_);
    if (error != 0) return driver_error("have its device hear all frames", error);
  }
  if (config.interrupts) {
    link_->subscribe(port_id_);
    const int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(port_id_, 0);
    if (fd >= 0) link_->add_wake_source(fd);
  }
  return success();
}

EthDevice::~EthDevice() {
  if (port_id_ != RTE_MAX_ETHPORTS) {
    link_->unsubscribe(port_id_);
    rte_eth_dev_stop(port_id_);
    rte_eth_dev_close(port_id_);
  }
  if (is_card_) {
    rte_eal_hotplug_remove("pci", name_.c_str());
  } else if (!name_.empty()) {
    rte_vdev_uninit(name_.c_str());
  }
  rte_mempool_free(pool_);
}

}  // namespace urnic::drivers
