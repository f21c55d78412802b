// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/switch/fabric_server.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "drivers/dpdk/open_port.h"
#include "drivers/fabric/join.h"
#include "drivers/fabric/learning_switch.h"
#include "nic/host/last_words_table.h"
#include "nic/host/lease_slots.h"
#include "tools/runtime/switch/fabric_status.h"
#include "tools/runtime/switch/network_file.h"
#include "tools/runtime/switch/network_status.h"

namespace urnic::tools {
namespace {

using Clock = std::chrono::steady_clock;
using drivers::ControlSocket;
using drivers::SwitchLoop;

/// How often the server looks whether a program is still there.
constexpr auto kCheckInterval = std::chrono::milliseconds(500);
constexpr unsigned kTimesOfLastFrame = 3;

std::optional<unsigned> parse_number(std::string_view text) {
  unsigned number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

/// Two numbers with a space between them.
std::optional<std::pair<unsigned, unsigned>> parse_two_numbers(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto first = parse_number(text.substr(0, space));
  const auto second = parse_number(text.substr(space + 1));
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

/// The slots of the programs on the fabric.
Result<std::vector<nic::HeldSlot>, Error> held_slots(const std::string& fabric) {
  return nic::held_slots({.kind = nic::PortSpec::Kind::kFabric, .side = {}, .target = fabric});
}

/// Programs that came before the network have direct links, and the network does not see their frames.
Result<void, Error> check_alone(const std::string& fabric) {
  const auto held = held_slots(fabric);
  if (!held) return held.error();
  if (held.value().empty()) return success();
  return Error{
      .code = EBUSY,
      .message = fmt::format("{} programs, such as process {}, are on fabric {} without the network; "
                             "end them first",
                             held.value().size(), held.value().front().record.process, fabric)};
}

}  // namespace

FabricServer::FabricServer(const Options& options, nic::FabricFolder folder, nic::LockFile lock,
                           ControlSocket control, std::unique_ptr<SwitchLoop> loop,
                           drivers::NetworkSwitch* network)
    : options_(options),
      folder_(std::move(folder)),
      files_(folder_.files_of_switch(options.number)),
      lock_(std::move(lock)),
      control_(std::move(control)),
      kept_files_(options.name, folder_),
      loop_(std::move(loop)),
      network_(network),
      thread_([this] { loop_->run(); }) {}

FabricServer::~FabricServer() {
  loop_->stop();
  thread_.join();
  if (is_found()) unlink(files_.control_socket.c_str());
}

Result<std::unique_ptr<FabricServer>, Error> FabricServer::open(const Options& options) {
  auto folder = nic::FabricFolder::open(options.name);
  if (!folder) return folder.error();
  const nic::SwitchFiles files = folder.value().files_of_switch(options.number);
  auto lock = drivers::take_switch_lock(files, options.name, options.link_mtu, options.start);
  if (!lock) return lock.error();
  auto control = ControlSocket::open(files);
  if (!control) return control.error();
  if (const auto alone = options.network ? check_alone(options.name) : success(); !alone) {
    return alone.error();
  }
  std::unique_ptr<drivers::NetworkSwitch> network;
  if (options.network) {
    auto faults = drivers::NetworkFaults::create(*options.network);
    if (!faults) return faults.error();
    network =
        std::make_unique<drivers::NetworkSwitch>(*options.network, std::move(faults.value()), Clock::now());
  }
  drivers::NetworkSwitch* const network_or_null = network.get();
  std::unique_ptr<drivers::Switch> it = std::move(network);
  if (it == nullptr) it = std::make_unique<drivers::LearningSwitch>();
  auto loop = SwitchLoop::create(std::move(it));
  if (!loop) return loop.error();
  std::unique_ptr<FabricServer> server(new FabricServer(options, std::move(folder.value()),
                                                        std::move(lock.value()), std::move(control.value()),
                                                        std::move(loop.value()), network_or_null));
  if (const auto opened = server->open_uplink(options); !opened) return opened.error();
  if (const auto served = server->serve_survivors(); !served) return served.error();
  return server;
}

Result<void, Error> FabricServer::open_uplink(const Options& options) {
  if (!options.uplink) return success();
  auto port = drivers::open_dpdk_port(*options.uplink, options.link_mtu, options.dpdk);
  if (!port) return port.error();
  uplink_ = loop_->add(std::move(port.value()));
  if (network_ != nullptr) connect(*uplink_, options.network->hosts.size() - 1);
  return success();
}

// Programs and other switches outlive one that was killed. They have asked for their ports already and will
// not again. A program that has a port and never opens it is one of them, too: frames do not wait for it.
Result<void, Error> FabricServer::serve_survivors() {
  const auto held = held_slots(options_.name);
  if (!held) return held.error();
  for (const nic::HeldSlot& one : held.value()) {
    if (!is_mine(one.slot)) continue;
    const auto provided = provide(ports_[one.slot], folder_.port_socket(one.slot), false);
    if (!provided) return provided.error();
  }
  for (unsigned number = 1; is_first() && number < nic::kFabricSwitches; ++number) {
    if (!nic::running_switch(folder_.files_of_switch(number))) continue;
    const auto provided = provide(trunks_[number], folder_.trunk_socket(number));
    if (!provided) return provided.error();
  }
  return success();
}

void FabricServer::serve(int end_fd, std::optional<std::chrono::seconds> linger) {
  auto last_used = Clock::now();
  while (!stop_wanted_) {
    constexpr std::size_t kFirstHolder = 2;
    std::array<pollfd, kFirstHolder + nic::kFabricPorts> events{
        {{.fd = control_.fd(), .events = POLLIN, .revents = 0},
         {.fd = end_fd, .events = POLLIN, .revents = 0}}};
    for (std::size_t slot = 0; slot < holders_.size(); ++slot) {
      events[kFirstHolder + slot] = {.fd = holders_[slot].process.get(), .events = POLLIN, .revents = 0};
    }
    if (poll(events.data(), events.size(), timeout_ms()) < 0) continue;
    if (events[1].revents != 0 || !is_found()) return;
    for (unsigned slot = 0; slot < holders_.size(); ++slot) {
      if (events[kFirstHolder + slot].revents != 0) speak_for(slot);
    }
    if (events[0].revents != 0) {
      if (auto request = control_.receive()) answer(*request);
    }
    send_last_frames();
    kept_files_.look();
    keep_lock();
    if (!is_first() && !stop_wanted_) keep_trunk();
    if (events[0].revents != 0 || !is_deserted()) last_used = Clock::now();
    if (linger && Clock::now() - last_used > *linger) return;
  }
}

int FabricServer::timeout_ms() const {
  auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(kCheckInterval);
  for (const LastFrame& each : last_frames_) {
    wait = std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(each.repetition.due() - Clock::now()));
  }
  return static_cast<int>(std::max(wait.count(), std::chrono::milliseconds::rep{0}));
}

// --- Programs that were killed ---

/// Only one NIC has a slot, so the process that had it before has ended.
void FabricServer::take_holder(std::string_view arguments, ControlSocket::Request& request) {
  const auto numbers = parse_two_numbers(arguments);
  if (!numbers || numbers->first >= holders_.size()) return;
  speak_for(numbers->first);
  const pid_t process = request.process();
  Holder& holder = holders_[numbers->first];
  holder.last_words = request.take_descriptor();
  if (process <= 0) return;
  holder.process = drivers::Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (holder.process) kept_files_.keep(numbers->first);
}

void FabricServer::speak_for(unsigned slot) {
  const Holder holder = std::move(holders_[slot]);
  kept_files_.forget(slot);
  if (!holder.last_words || !ports_[slot]) return;
  const auto now = Clock::now();
  for (auto& [frame, delivery] : nic::read_last_words(holder.last_words.get())) {
    last_frames_.push_back({.port = *ports_[slot],
                            .frame = std::move(frame),
                            .repetition = nic::Repetition(delivery, kTimesOfLastFrame, now)});
  }
}

/// Each that has an answer a few times, as the network may lose some; the switch does not look for answers.
void FabricServer::send_last_frames() {
  if (last_frames_.empty()) return;
  const auto now = Clock::now();
  loop_->ask([&](drivers::Switch& it) {
    for (LastFrame& each : last_frames_) {
      if (each.repetition.due() > now) continue;
      it.inject(each.port, each.frame, now);
      each.repetition.on_sent(now);
    }
  });
  std::erase_if(last_frames_, [](const LastFrame& each) { return each.repetition.is_over(); });
}

/// The file may have been removed, and by it others see that there is a switch.
void FabricServer::keep_lock() {
  if (access(files_.lock.c_str(), F_OK) == 0 || access(files_.control_socket.c_str(), F_OK) != 0) return;
  auto again =
      drivers::take_switch_lock(files_, options_.name, options_.link_mtu, drivers::SwitchStart::kOnDemand);
  if (again) lock_ = std::move(again.value());
}

// The first switch may have been killed. Whatever keeps it from coming back, this switch goes on for its own
// programs, and tries again.
void FabricServer::keep_trunk() const {
  if (nic::running_switch(folder_.files_of_switch(0))) return;
  [[maybe_unused]] const auto trunk =
      drivers::join_first_switch(options_.name, options_.number, options_.program);
}

// Its socket is gone with a folder that was removed, and then no program can come any more.
bool FabricServer::is_found() const {
  struct stat status {};
  return lstat(files_.control_socket.c_str(), &status) == 0;
}

// All need the first switch.
bool FabricServer::is_deserted() const {
  const auto held = held_slots(options_.name);
  return held && std::none_of(held.value().begin(), held.value().end(),
                              [this](const nic::HeldSlot& one) { return is_first() || is_mine(one.slot); });
}

void FabricServer::answer(ControlSocket::Request& request) {
  const std::string_view text = request.text();
  const std::string_view word = text.substr(0, text.find(' '));
  const std::string_view arguments = text.substr(std::min(text.size(), word.size() + 1));
  if (word == "port") {
    const auto provided = answer_port(arguments);
    if (provided) take_holder(arguments, request);
    return provided ? request.answer(provided.value()) : request.refuse(provided.error().message);
  }
  if (word == "network") {
    const auto described = answer_network(arguments);
    return described ? request.answer(described.value()) : request.refuse(described.error().message);
  }
  if (word == "trunk") {
    const auto provided = answer_trunk(arguments);
    return provided ? request.answer(std::to_string(options_.link_mtu))
                    : request.refuse(provided.error().message);
  }
  if (word == "status") return request.answer(status());
  if (word == "stop") {
    stop_wanted_ = true;
    return request.answer("");
  }
  request.refuse("the switch does not know this request; is it of another version?");
}

Result<std::string, Error> FabricServer::answer_port(std::string_view arguments) {
  const auto numbers = parse_two_numbers(arguments);
  if (!numbers || numbers->first >= ports_.size() || !is_mine(numbers->first)) {
    return Error{.code = EINVAL,
                 .message = fmt::format("'{}' is no slot of this switch and an MTU", arguments)};
  }
  const auto [slot, mtu] = *numbers;
  if (mtu > options_.link_mtu) {
    return Error{.code = EINVAL,
                 .message = fmt::format("it carries packets of {} bytes and not of {}; give --mtu {} or less",
                                        options_.link_mtu, mtu, options_.link_mtu)};
  }
  if (const auto known = check_host(slot); !known) return known.error();
  const auto provided = provide(ports_[slot], folder_.port_socket(slot));
  if (!provided) return provided.error();
  if (network_ != nullptr) connect(*ports_[slot], slot);
  return std::string(network_ != nullptr ? drivers::kSwitchedPort : "");
}

/// With a network, whether the NIC in that slot can be one of its hosts.
Result<void, Error> FabricServer::check_host(unsigned slot) const {
  if (network_ == nullptr) return success();
  const std::size_t hosts = program_hosts(options_.network->hosts.size(), options_.uplink.has_value());
  if (slot < hosts) return success();
  return Error{
      .code = EINVAL,
      .message = fmt::format("its network {} has {} hosts for programs, the ports 0 to {}, and none for "
                             "port {}; end a program, or add hosts to the file",
                             options_.network->name, hosts, hosts - 1, slot)};
}

Result<std::string, Error> FabricServer::answer_network(std::string_view arguments) {
  const auto first = parse_number(arguments);
  if (network_ == nullptr || !first) {
    return Error{.code = EINVAL,
                 .message = fmt::format("this switch has no network, or '{}' is no number", arguments)};
  }
  nlohmann::json ports;
  loop_->ask([&](drivers::Switch&) { ports = network_ports(network_->network(), *first); });
  return ports.dump();
}

std::vector<std::string> FabricServer::fault_report() {
  std::vector<std::string> lines;
  if (network_ != nullptr) loop_->ask([&](drivers::Switch&) { lines = network_->fault_report(); });
  return lines;
}

/// Does no harm to a port that is connected already.
void FabricServer::connect(drivers::Switch::PortNumber port, std::size_t host) {
  loop_->ask([&](drivers::Switch&) { network_->connect(port, static_cast<network::HostId>(host)); });
}

Result<void, Error> FabricServer::answer_trunk(std::string_view arguments) {
  if (const auto known = check_host(nic::kFirstSwitchPorts); !known) return known.error();
  const auto number = parse_number(arguments);
  if (!is_first() || !number || *number == 0 || *number >= trunks_.size()) {
    return Error{.code = EINVAL, .message = fmt::format("this switch has no trunk '{}'", arguments)};
  }
  return provide(trunks_[*number], folder_.trunk_socket(*number));
}

Result<void, Error> FabricServer::provide(OptionalPort& port, const std::string& socket,
                                          bool waits_for_peer) {
  if (port) return success();
  const nic::PortSpec front{
      .kind = nic::PortSpec::Kind::kVhost, .side = nic::PortSpec::VhostSide::kFront, .target = socket};
  drivers::DpdkOptions dpdk = options_.dpdk;
  dpdk.waits_for_first_peer = waits_for_peer;
  auto opened = drivers::open_dpdk_port(front, options_.link_mtu, dpdk);
  if (!opened) return opened.error();
  port = loop_->add(std::move(opened.value()));
  return success();
}

std::string FabricServer::status() {
  FabricStatus status{.name = options_.name,
                      .number = options_.number,
                      .process = getpid(),
                      .link_mtu = options_.link_mtu,
                      .uptime = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - started_),
                      .ports = {},
                      .uplink = {},
                      .network = {}};
  const auto held = held_slots(options_.name);
  if (network_ != nullptr) status.network = describe_network(*options_.network);
  loop_->ask([&](drivers::Switch& it) {
    if (uplink_) status.uplink = port_status(it, *uplink_);
    if (!held) return;
    for (const nic::HeldSlot& slot : held.value()) {
      if (!is_mine(slot.slot)) continue;
      PortStatus port = ports_[slot.slot] ? port_status(it, *ports_[slot.slot]) : PortStatus{};
      port.slot = slot.slot;
      port.holder = slot.record;
      status.ports.push_back(std::move(port));
    }
  });
  return to_json(status);
}

}  // namespace urnic::tools
