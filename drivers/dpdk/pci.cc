// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/pci.h"

#include <fmt/core.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "drivers/descriptor.h"
#include "drivers/dpdk/eal.h"
#include "drivers/dpdk/eth_device.h"
#include "drivers/dpdk/port.h"
#include "drivers/pci/card.h"
#include "drivers/shortest_frame.h"

namespace urnic::drivers {

namespace {

constexpr std::uint16_t kCardRingEntries = 512;
// What the port itself may hold (four bursts), and what drivers hold back: those that work with vectors
// refill late.
constexpr std::uint32_t kCardBuffers = 2u * kCardRingEntries + 2u * 4 * 64;
// A checksum of Ethernet, and two VLAN tags.
constexpr std::uint32_t kTrailerBytes = 4 + 2 * 4;
constexpr auto kCablePatience = std::chrono::seconds(3);
// In which a card of 1 Gb/s sends a ring full of frames of 4200 bytes.
constexpr auto kRingTime = std::chrono::milliseconds(20);

using Clock = std::chrono::steady_clock;

class CardMedium final : public Medium {
 public:
  CardMedium(std::unique_ptr<EthDevice> device, Descriptor lock)
      : Medium(std::move(device)), lock_(std::move(lock)) {}
  // The card is still ours while the driver leaves it.
  ~CardMedium() override { end_device(); }

  bool can_send() override {
    sent_last_ = Clock::now();
    return true;
  }
  // Not every driver can tell which frames have left.
  bool is_drained() const override { return Clock::now() - sent_last_ > kRingTime; }

  std::uint64_t lost_frames() const override {
    rte_eth_stats statistics{};
    rte_eth_stats_get(device().port_id(), &statistics);
    return statistics.oerrors;
  }

 private:
  Descriptor lock_;
  Clock::time_point sent_last_;
};

/// Frames that leave before the cable is there are lost, and the first frames ask for neighbors. The port
/// opens even without a cable.
void await_cable(std::uint16_t port_id) {
  const auto end = Clock::now() + kCablePatience;
  rte_eth_link state{};
  while (rte_eth_link_get_nowait(port_id, &state) == 0 && state.link_status != RTE_ETH_LINK_UP &&
         Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

Result<std::unique_ptr<nic::PacketPort>, Error> open_pci(const std::string& address, std::uint16_t link_mtu,
                                                         const DpdkOptions& options) {
  const auto card = PciCard::find(address, kPciMemoryBytes);
  if (!card) return card.error();
  auto lock = card.value().lock();
  if (!lock) return lock.error();
  const DpdkOptions own{.verbose = options.verbose,
                        .memory_mib = kPciMemoryBytes >> 20,
                        .pci_address = address,
                        .has_physical_addresses = card.value().access() == PciCard::Access::kPhysical};
  if (const auto started = start_eal(own); !started) return started.error();

  const std::uint32_t frame_bytes = link_mtu + static_cast<std::uint32_t>(kEthernetHeaderBytes);
  const EthDevice::Config config{
      .driver = {},
      .arguments = {},
      .pci_address = address,
      .receive_descriptors = kCardRingEntries,
      .transmit_descriptors = kCardRingEntries,
      .buffers = kCardBuffers,
      // Cards fill buffers of some round sizes only, and a frame has to fit one.
      .buffer_bytes = std::bit_ceil(frame_bytes + kTrailerBytes),
      .mtu = link_mtu,
      .is_promiscuous = true,
  };
  auto device = EthDevice::create(config);
  if (!device) return device.error();
  await_cable(device.value()->port_id());
  device.value()->link().report(true);
  return std::make_unique<DpdkPort>(
      std::make_unique<CardMedium>(std::move(device.value()), std::move(lock.value())),
      DpdkPort::Config{.max_frame_bytes = frame_bytes,
                       .min_frame_bytes = kShortestFrame,
                       .is_polled = true,
                       .description = fmt::format("pci {}", address)});
}

}  // namespace urnic::drivers
