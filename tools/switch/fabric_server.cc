#include "tools/switch/fabric_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "drivers/dpdk/open_port.h"
#include "nic/lease_slots.h"
#include "tools/switch/fabric_status.h"

namespace urnic::tools {
namespace {

using Clock = std::chrono::steady_clock;
using drivers::ControlSocket;
using drivers::SwitchLoop;

/// How often the server looks whether anybody is still there.
constexpr auto kCheckInterval = std::chrono::milliseconds(500);

/// Two numbers with a space between them.
std::optional<std::pair<unsigned, unsigned>> parse_two_numbers(std::string_view text) {
  std::pair<unsigned, unsigned> numbers;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, numbers.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, numbers.second);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return numbers;
}

nic::PortSpec fabric_spec(const std::string& name) {
  return {.kind = nic::PortSpec::Kind::kFabric, .side = {}, .target = name};
}

}  // namespace

FabricServer::FabricServer(const Options& options, nic::FabricFolder folder, nic::LockFile lock,
                           ControlSocket control, std::unique_ptr<SwitchLoop> loop)
    : options_(options),
      folder_(std::move(folder)),
      lock_(std::move(lock)),
      control_(std::move(control)),
      loop_(std::move(loop)),
      thread_([this] { loop_->run(); }) {}

FabricServer::~FabricServer() {
  loop_->stop();
  thread_.join();
  if (is_found()) unlink(folder_.control_socket().c_str());
}

Result<std::unique_ptr<FabricServer>, Error> FabricServer::open(const Options& options) {
  auto folder = nic::FabricFolder::open(options.name);
  if (!folder) return folder.error();
  auto lock = drivers::take_switch_lock(folder.value(), options.name, options.link_mtu, options.start);
  if (!lock) return lock.error();
  auto control = ControlSocket::open(folder.value());
  if (!control) return control.error();
  auto loop = SwitchLoop::create();
  if (!loop) return loop.error();
  std::unique_ptr<FabricServer> server(new FabricServer(options, std::move(folder.value()),
                                                        std::move(lock.value()), std::move(control.value()),
                                                        std::move(loop.value())));
  if (const auto opened = server->open_uplink(options); !opened) return opened.error();
  if (const auto served = server->serve_survivors(); !served) return served.error();
  return server;
}

Result<void, Error> FabricServer::open_uplink(const Options& options) {
  if (!options.uplink) return success();
  auto port = drivers::open_dpdk_port(*options.uplink, options.link_mtu, options.dpdk);
  if (!port) return port.error();
  uplink_ = loop_->add(std::move(port.value()));
  return success();
}

// Programs outlive a switch that was killed. They have asked for their ports already and will not again.
Result<void, Error> FabricServer::serve_survivors() {
  const auto held = nic::held_slots(fabric_spec(options_.name));
  if (!held) return success();  // somebody is just coming, and will ask
  for (const nic::HeldSlot& slot : held.value()) {
    if (const auto provided = provide_port(slot.slot); !provided) return provided.error();
  }
  return success();
}

void FabricServer::serve(int end_fd, std::optional<std::chrono::seconds> linger) {
  auto last_used = Clock::now();
  while (!stop_wanted_) {
    std::array<pollfd, 2> events{{{.fd = control_.fd(), .events = POLLIN, .revents = 0},
                                  {.fd = end_fd, .events = POLLIN, .revents = 0}}};
    constexpr int kCheckMs = static_cast<int>(kCheckInterval.count());
    if (poll(events.data(), events.size(), kCheckMs) < 0) continue;
    if (events[1].revents != 0 || !is_found()) return;
    if (events[0].revents != 0) {
      if (const auto request = control_.receive()) answer(*request);
    }
    if (events[0].revents != 0 || !is_deserted()) last_used = Clock::now();
    if (linger && Clock::now() - last_used > *linger) return;
  }
}

// Its socket is gone with a folder that was removed, and then nobody can come any more.
bool FabricServer::is_found() const {
  struct stat status {};
  return lstat(folder_.control_socket().c_str(), &status) == 0;
}

bool FabricServer::is_deserted() const {
  const auto held = nic::held_slots(fabric_spec(options_.name));
  return held && held.value().empty();
}

void FabricServer::answer(const ControlSocket::Request& request) {
  const std::string_view text = request.text();
  const std::string_view word = text.substr(0, text.find(' '));
  if (word == "port") {
    const auto provided = answer_port(text.substr(std::min(text.size(), word.size() + 1)));
    return provided ? request.answer("") : request.refuse(provided.error().message);
  }
  if (word == "status") return request.answer(status());
  if (word == "stop") {
    stop_wanted_ = true;
    return request.answer("");
  }
  request.refuse("the switch does not know this request; is it of another version?");
}

Result<void, Error> FabricServer::answer_port(std::string_view arguments) {
  const auto numbers = parse_two_numbers(arguments);
  if (!numbers || numbers->first >= ports_.size()) {
    return Error{.code = EINVAL, .message = fmt::format("'{}' is no slot and no MTU", arguments)};
  }
  const auto [slot, mtu] = *numbers;
  if (mtu > options_.link_mtu) {
    return Error{.code = EINVAL,
                 .message = fmt::format("it carries packets of {} bytes and not of {}; give --mtu {} or less",
                                        options_.link_mtu, mtu, options_.link_mtu)};
  }
  return provide_port(slot);
}

Result<void, Error> FabricServer::provide_port(unsigned slot) {
  if (ports_[slot]) return success();
  const nic::PortSpec front{.kind = nic::PortSpec::Kind::kVhost,
                            .side = nic::PortSpec::VhostSide::kFront,
                            .target = folder_.port_socket(slot)};
  auto port = drivers::open_dpdk_port(front, options_.link_mtu, options_.dpdk);
  if (!port) return port.error();
  ports_[slot] = loop_->add(std::move(port.value()));
  return success();
}

std::string FabricServer::status() {
  FabricStatus status{.name = options_.name,
                      .process = getpid(),
                      .link_mtu = options_.link_mtu,
                      .uptime = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - started_),
                      .ports = {},
                      .uplink = {}};
  const auto held = nic::held_slots(fabric_spec(options_.name));
  loop_->ask([&](drivers::Switch& it) {
    if (uplink_) status.uplink = port_status(it, *uplink_);
    if (!held) return;
    for (const nic::HeldSlot& slot : held.value()) {
      PortStatus port = ports_[slot.slot] ? port_status(it, *ports_[slot.slot]) : PortStatus{};
      port.slot = slot.slot;
      port.holder = slot.record;
      status.ports.push_back(std::move(port));
    }
  });
  return to_json(status);
}

}  // namespace urnic::tools
