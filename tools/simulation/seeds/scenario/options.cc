// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/scenario/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "tools/simulation/seeds/core/random.h"
#include "tools/simulation/seeds/scenario/random_topology.h"

namespace urnic::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

double microseconds_of(Duration duration) {
  return static_cast<double>(duration.count()) / 1000;
}

/// An adversary flushes up to 20 ms late, and then lets the completions wait.
constexpr Duration kLongestPlay = milliseconds(25);

/// Half of the kinds of fault are on in a seed, each at a rate of its own.
double draw_rate(Random& random) {
  static constexpr std::array kRates = {0.002, 0.005, 0.01, 0.02, 0.04};
  return random.chance(0.5) ? random.pick(kRates) : 0;
}

FaultRates draw_faults(Random& random) {
  FaultRates rates;
  rates.loss = draw_rate(random);
  rates.duplication = draw_rate(random);
  rates.reordering = draw_rate(random);
  rates.corruption = draw_rate(random);
  rates.truncation = draw_rate(random) / 2;
  rates.padding = draw_rate(random);
  rates.blackout = random.chance(0.25) ? 0.001 : 0;
  rates.burst = draw_rate(random) / 8;
  rates.pause = random.chance(0.2) ? 0.004 : 0;
  rates.congestion = draw_rate(random);
  return rates;
}

LinkOptions draw_link(Random& random, bool faults) {
  LinkOptions link;
  link.nanoseconds_per_byte = random.pick(std::array{0.8, 0.2, 0.08});  // 10, 40, 100 Gb/s
  link.base_delay = random.between(nanoseconds(500), microseconds(20));
  link.jitter = random.chance(0.5) ? random.between(nanoseconds(0), microseconds(10)) : Duration(0);
  link.reorder_delay = random.between(microseconds(1), microseconds(random.chance(0.2) ? 3000 : 100));
  link.blackout_time = random.between(microseconds(10), microseconds(5000));
  link.pause_time = random.between(microseconds(10), microseconds(20'000));
  if (faults) link.faults = draw_faults(random);
  return link;
}

HostId draw_other_host(const Options& options, Random& random, HostId host) {
  return host_id((index(host) + random.between(1, options.hosts - 1)) % options.hosts);
}

/// Half of the worlds have two hosts, as most networks that are looked at closely do.
void draw_topology(Options& options, Random& random) {
  options.hosts = random.chance(0.5) ? 2 : static_cast<std::uint32_t>(random.between(3, kMaxHosts));
  options.unreliable_pairs = random.chance(0.4) ? static_cast<std::uint32_t>(random.between(1, 2)) : 0;
  options.datagram_hosts =
      random.chance(0.4) ? static_cast<std::uint32_t>(random.between(2, options.hosts)) : 0;
  const std::uint64_t least = (options.hosts + 1) / 2;
  options.pairs = static_cast<std::uint32_t>(random.between(least, least + 3));
  for (std::uint32_t pair = 0; pair <= options.pairs; ++pair) {
    const HostId left = host_id(pair % options.hosts);
    options.ends.push_back({left, draw_other_host(options, random, left)});
  }
}

void draw_connection(Options& options, Random& random) {
  using transport::PathMtu;
  options.path_mtu =
      random.pick(std::array{PathMtu::k256, PathMtu::k512, PathMtu::k1024, PathMtu::k2048, PathMtu::k4096});
  options.ipv6 = random.chance(0.3);
  options.psn_near_wrap = random.chance(0.4);
  options.window_packets = random.pick(std::array{4u, 8u, 16u, 32u, 64u, 128u, 128u});
  options.max_reads_in_flight = random.pick(std::array<std::uint8_t, 5>{1, 2, 4, 16, 128});
  options.ack_timeout = static_cast<std::uint8_t>(random.between(8, 14));
  options.min_ack_timeout = random.chance(0.5) ? Duration(microseconds(4194)) : Duration(milliseconds(1));
  options.retry_count =
      random.chance(0.85) ? std::uint8_t{7} : static_cast<std::uint8_t>(random.between(1, 4));
  options.rnr_retry = random.chance(0.85) ? std::uint8_t{7} : static_cast<std::uint8_t>(random.between(0, 3));
  options.min_rnr_timer =
      random.chance(0.03) ? std::uint8_t{0} : static_cast<std::uint8_t>(random.between(1, 16));
}

void draw_applications(Options& options, Random& random) {
  options.operations = static_cast<std::uint32_t>(random.between(210, 400));
  options.max_message_bytes = random.pick(std::array{4096u, 16384u, 65536u});
  for (auto& weight : options.operation_weights) weight = random.pick(std::array{0u, 1u, 1u, 3u});
  if (std::all_of(options.operation_weights.begin(), options.operation_weights.end(),
                  [](std::uint32_t weight) { return weight == 0; })) {
    options.operation_weights.fill(1);
  }
  options.signaled = random.pick(std::array{1.0, 0.5, 0.1});
  options.inlined = random.pick(std::array{0.0, 0.3});
  options.fenced = random.pick(std::array{0.0, 0.0, 0.1});
  options.chained = random.pick(std::array{0.0, 0.2, 0.5});
  options.send_depth = random.pick(std::array{4u, 16u, 64u, 256u});
  options.receive_depth = random.pick(std::array{2u, 16u, 256u});
  options.shared_receives = random.chance(0.3) ? static_cast<std::uint32_t>(random.between(2, 12)) : 0;
  options.overruns = random.chance(0.1);
  options.one_cq = random.chance(0.5);
  options.post_gap = random.between(microseconds(1), microseconds(100));
  // One in three applications is slower to post receives than its peer is to send.
  options.receive_gap = random.chance(0.33) ? options.post_gap * 3 : options.post_gap / 4;
}

void draw_hosts(Options& options, Random& random, bool faults) {
  options.round_cost = random.between(nanoseconds(100), nanoseconds(3000));
  options.poll_delay = random.chance(0.5) ? random.between(nanoseconds(0), nanoseconds(5000)) : Duration(0);
  if (faults) {
    options.stall = random.chance(0.3) ? 0.001 : 0;
    options.stall_time = random.between(microseconds(50), microseconds(3000));
    options.port_full = random.chance(0.3) ? random.pick(std::array{0.01, 0.1}) : 0;
    options.violator = random.chance(0.4);
    options.deregistrations = random.chance(0.25) ? static_cast<std::uint32_t>(random.between(1, 3)) : 0;
    options.volatile_keys = options.deregistrations > 0 ? random.pick(std::array{0.2, 0.7}) : 0;
    options.deliberate_errors = random.chance(0.25) ? static_cast<std::uint32_t>(random.between(1, 3)) : 0;
  }
}

/// Half of the worlds with XRC have it on most pairs. What is here is drawn last, so that older seeds keep
/// their meaning.
void draw_services(Options& options, Random& random) {
  const double xrc = random.chance(0.4) ? random.pick(std::array{0.3, 0.8}) : 0;
  for (std::uint32_t pair = 0; pair <= options.pairs; ++pair) options.is_xrc.push_back(random.chance(xrc));
  options.xrc_receives = static_cast<std::uint32_t>(random.between(2, 12));
  options.shared_unreliable = options.shared_receives > 0 && random.chance(0.6);
  options.unreliable_errors = random.chance(0.4) ? random.pick(std::array{0.03, 0.15}) : 0;
  // So often that some are in the middle of a READ whose answer was lost.
  if (random.chance(0.5)) options.deregistrations *= 8;
  options.drains = random.chance(0.35) ? static_cast<std::uint32_t>(random.between(1, 6)) : 0;
  options.ack_delay = random.chance(0.5) ? random.between(microseconds(1), microseconds(200)) : Duration(0);
  options.windows_are_2a = random.chance(0.3);
}

Partition draw_partition(const Options& options, Random& random) {
  Partition partition;
  partition.from = host_id(random.below(options.hosts));
  partition.to = draw_other_host(options, random, partition.from);
  partition.begin = Time(random.between(Duration(0), milliseconds(10)));
  partition.end = partition.begin + random.between(microseconds(100), milliseconds(30));
  return partition;
}

ExactLoss draw_exact_loss(const Options& options, Random& random) {
  return {.from = host_id(random.below(options.hosts)),
          .kind = static_cast<PacketKind>(random.below(kPacketKinds)),
          .first = random.between(1, random.chance(0.5) ? 4 : 40),
          .count = random.between(1, 3)};
}

/// From a stream of its own, so that older seeds keep their meaning: they have programs that connect beside
/// what they had.
void draw_connections(Options& options, bool faults) {
  Random random(options.seed, Stream::kConnections);
  ConnectionOptions& connections = options.connections;
  if (!random.chance(0.3)) return;
  connections.attempts = static_cast<std::uint32_t>(random.between(2, 8));
  connections.is_slow = random.chance(0.3);
  connections.faults_until = random.between(seconds(1), seconds(30));
  if (!faults) return;
  connections.may_leave = random.chance(0.5);
  connections.loss = random.pick(std::array{0.0, 0.05, 0.2});
  connections.duplication = random.pick(std::array{0.0, 0.1, 0.3});
  connections.lateness = random.pick(std::array{0.0, 0.1, 0.3});
  connections.delay = random.between(microseconds(1), milliseconds(random.chance(0.5) ? 5 : 250));
  if (!random.chance(0.2)) return;
  // What one host says gets nowhere.
  Partition cut{.from = host_id(random.below(options.hosts))};
  cut.begin = Time(random.chance(0.3) ? Duration(0) : random.between(milliseconds(1), milliseconds(300)));
  cut.end = cut.begin + (random.chance(0.4) ? random.between(seconds(5), seconds(90))
                                            : random.between(seconds(90), seconds(150)));
  for (std::uint32_t host = 0; host < options.hosts; ++host) {
    cut.to = host_id(host);
    if (cut.to != cut.from) connections.cuts.push_back(cut);
  }
  connections.faults_until = std::max(connections.faults_until, cut.end.time_since_epoch());
}

transport::congestion::Choice draw_choice(Random& random) {
  using namespace transport::congestion;
  Choice choice;
  choice.line_rate = random.pick(std::array{1'000u, 10'000u, 40'000u}) * kMegabit;
  switch (random.below(6)) {
    case 0: {
      DcqcnParameters parameters = random.pick(std::array{DcqcnParameters{}, kDcqcnOfPaper, kDcqcnOfHpcc});
      // Slower ones would take minutes for the messages of a world.
      parameters.rpg_min_rate = static_cast<std::uint32_t>(random.between(50, 500));
      parameters.rpg_byte_reset = random.pick(std::array{0u, 4096u, 100'000u});
      choice.parameters = parameters;
      break;
    }
    case 1:
      choice.parameters = TimelyParameters{.t_low = 20, .t_high = 500, .min_rate = 100};
      break;
    case 2:
      choice.parameters = SwiftParameters{.base_delay = 50, .fs_range = 250, .min_window = 512};
      break;
    case 3:
      choice.parameters = FixedParameters{.rate = static_cast<std::uint32_t>(random.between(100, 20'000))};
      break;
    default:
      break;
  }
  return choice;
}

/// From a stream of its own, as above.
void draw_congestion(Options& options) {
  Random random(options.seed, Stream::kCongestion);
  const bool is_controlled = random.chance(0.5);
  for (std::uint32_t host = 0; host < options.hosts; ++host) {
    options.congestion.push_back(is_controlled ? draw_choice(random) : transport::congestion::Choice{});
  }
}

/// The chance of each RC pair of the seed to repeat selectively. From a stream of its own, as above.
void draw_recovery(Options& options, std::optional<transport::Recovery> forced) {
  Random random(options.seed, Stream::kRecovery);
  double selective = random.chance(1.0 / 3) ? random.pick(std::array{0.5, 1.0}) : 0;
  if (forced) selective = *forced == transport::Recovery::kSelectiveRepeat ? 1 : 0;
  for (std::uint32_t pair = 0; pair <= options.pairs; ++pair) {
    options.repeats_selectively.push_back(random.chance(selective) && !options.is_xrc[pair]);
  }
}

/// One world in three has a topology. From streams of its own, as above.
void draw_path(Options& options, std::optional<PathKind> forced) {
  Random random(options.seed, Stream::kTopology);
  bool is_switched = random.chance(1.0 / 3);
  if (forced) is_switched = *forced == PathKind::kSwitched;
  options.traffic_classes.resize(options.pairs + 1);
  if (!is_switched) return;
  options.topology = draw_random_topology(options.hosts, random);
  for (std::uint8_t& traffic_class : options.traffic_classes) traffic_class = draw_traffic_class(random);
}

/// One world in four has adversaries. From a stream of its own, as above.
void draw_adversaries(Options& options, std::optional<bool> forced) {
  Random random(options.seed, Stream::kAdversaries);
  const bool is_drawn = random.chance(0.25);
  const bool has_any = forced.value_or(is_drawn);
  for (std::uint32_t host = 0; host < options.hosts; ++host) {
    nic::AdversarySettings settings{.seed = random.next(), .scale = random.pick(std::array{0.3, 1.0, 1.0})};
    settings.behaviors = nic::behaviors_of(settings.seed);
    const bool has_one = has_any && (forced || random.chance(0.7));
    options.adversaries.push_back(has_one ? std::optional(settings) : std::nullopt);
  }
}

/// As `--cc` takes it.
std::string_view name_of_controller(const transport::congestion::Choice& choice) {
  static constexpr std::array<std::string_view, 5> kNames = {"none", "dcqcn", "timely", "swift", "fixed"};
  return kNames.at(choice.parameters.index());
}

void draw_network(Options& options, Random& random, bool faults) {
  for (std::uint32_t host = 0; host < options.hosts; ++host) {
    // One direction alone may be bad: requests arrive and acknowledgements do not, or the other way round.
    options.links.push_back(draw_link(random, faults && !random.chance(0.2)));
  }
  if (!faults) return;
  const std::uint64_t partitions = random.chance(0.2) ? random.between(1, 3) : 0;
  for (std::uint64_t i = 0; i < partitions; ++i) {
    options.partitions.push_back(draw_partition(options, random));
  }
  const std::uint64_t losses = random.chance(0.3) ? random.between(1, 4) : 0;
  for (std::uint64_t i = 0; i < losses; ++i) options.exact_losses.push_back(draw_exact_loss(options, random));
}

std::string describe(const LinkOptions& link, HostId host) {
  const FaultRates& faults = link.faults;
  std::string text = fmt::format(" {}:[delay={}+{}us {}ns/B", name(host), microseconds_of(link.base_delay),
                                 microseconds_of(link.jitter), link.nanoseconds_per_byte);
  const auto add = [&](const char* what, double rate, Duration time) {
    if (rate > 0) text += fmt::format(" {}={}", what, rate);
    if (rate > 0 && time > Duration(0)) text += fmt::format("x{}us", microseconds_of(time));
  };
  add("loss", faults.loss, {});
  add("dup", faults.duplication, {});
  add("reorder", faults.reordering, link.reorder_delay);
  add("corrupt", faults.corruption, {});
  add("truncate", faults.truncation, {});
  add("pad", faults.padding, {});
  add("blackout", faults.blackout, link.blackout_time);
  add("burst", faults.burst, {});
  add("pause", faults.pause, link.pause_time);
  add("ecn", faults.congestion, {});
  return text + "]";
}

std::string describe(const nic::AdversarySettings& adversary, HostId host) {
  std::string text = fmt::format(" chaos={}:[seed={} scale={}", name(host), adversary.seed, adversary.scale);
  for (const nic::BehaviorRow& row : nic::all_behaviors()) {
    if (adversary.behaviors.test(static_cast<std::size_t>(row.behavior))) {
      text += fmt::format(" {}", row.name);
    }
  }
  return text + "]";
}

}  // namespace

std::string_view name_of(PathKind kind) {
  return kind == PathKind::kSwitched ? "switched" : "direct";
}

std::optional<PathKind> parse_path(std::string_view name) {
  for (const PathKind kind : {PathKind::kDirect, PathKind::kSwitched}) {
    if (name == name_of(kind)) return kind;
  }
  return std::nullopt;
}

Options Options::draw(std::uint64_t seed, const Forced& forced) {
  Random random(seed, Stream::kOptions);
  Options options;
  options.seed = seed;
  const bool faults = !random.chance(0.06);
  draw_topology(options, random);
  draw_connection(options, random);
  draw_applications(options, random);
  draw_hosts(options, random, faults);
  draw_network(options, random, faults);
  options.safety_fraction = random.pick(std::array{0.7, 0.9, 1.0});
  draw_services(options, random);
  draw_connections(options, faults);
  draw_congestion(options);
  draw_recovery(options, forced.recovery);
  draw_path(options, forced.path);
  draw_adversaries(options, forced.adversaries);
  return options;
}

bool Options::places_late(HostId host) const {
  constexpr auto kLatePlacement = static_cast<std::size_t>(nic::Behavior::kLatePlacement);
  return has_adversary(host) && adversaries[index(host)]->behaviors.test(kLatePlacement);
}

bool Options::is_peaceful() const {
  const bool is_kind =
      std::ranges::none_of(links, [](const LinkOptions& link) { return link.faults.any(); }) &&
      partitions.empty() && exact_losses.empty() && !topology;
  return is_kind && stall == 0 && port_full == 0 && !violator && deliberate_errors == 0 &&
         deregistrations == 0 && rnr_retry == 7 && connections.loss == 0 && connections.cuts.empty() &&
         !connections.may_leave;
}

Duration Options::effective_ack_timeout() const {
  return std::max(min_ack_timeout, Duration(std::int64_t{4096} << ack_timeout));
}

Duration Options::rnr_delay() const {
  return rnr_timer(min_rnr_timer);
}

Duration Options::max_frame_age() const {
  Duration worst{};
  for (const LinkOptions& link : links) {
    const Duration pause = link.faults.pause > 0 ? link.pause_time : Duration(0);
    worst = std::max(worst, link.base_delay + link.jitter + link.reorder_delay + pause);
  }
  if (topology) worst += kMaxTransit;
  return worst + stall_time + milliseconds(20);  // the rest is for queueing before the link
}

Duration Options::settling_time() const {
  const bool has_any = std::ranges::any_of(adversaries, [](const auto& one) { return one.has_value(); });
  return max_frame_age() + (has_any ? kLongestPlay : Duration(0));
}

// A host stalls, or its port is full; links that are paused or slow hold it up for longer.
Duration Options::frame_lateness() const {
  return topology ? milliseconds(500) : milliseconds(10);
}

Duration rnr_timer(std::uint8_t code) {
  static constexpr std::array<std::uint32_t, 32> kMicroseconds = {
      655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
      480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
      20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};
  return microseconds(kMicroseconds[code & 31u]);
}

std::string Options::to_string() const {
  std::string text = fmt::format(
      "hosts={} mtu={} ip={} pairs={}{} xrc={} uc={} ud={} wrap={} window={} reads={} ack_timeout={} "
      "min_ack={}us ack_delay={}us retry={} "
      "rnr_retry={} "
      "rnr_timer={}",
      hosts, transport::bytes(path_mtu), ipv6 ? 6 : 4, pairs, violator ? "+violator" : "",
      std::count(is_xrc.begin(), is_xrc.end() - (violator ? 0 : 1), true), unreliable_pairs, datagram_hosts,
      psn_near_wrap, window_packets, max_reads_in_flight, ack_timeout, microseconds_of(min_ack_timeout),
      microseconds_of(ack_delay), retry_count, rnr_retry, min_rnr_timer);
  text += fmt::format(
      " ops={} max_message={} weights={} signaled={} inline={} fence={} chain={} depth={}/{} srq={}{} "
      "xrc_srq={} overrun={} one_cq={} "
      "gaps={}/{}us errors={} drains={} send_errors={} deregister={}x{}",
      operations, max_message_bytes, fmt::join(operation_weights, "/"), signaled, inlined, fenced, chained,
      send_depth, receive_depth, shared_receives, shared_unreliable ? "+unreliable" : "", xrc_receives,
      overruns, one_cq, microseconds_of(post_gap), microseconds_of(receive_gap), deliberate_errors, drains,
      unreliable_errors, deregistrations, volatile_keys);
  text += fmt::format(" windows={} round={}us poll={}us stall={}x{}us port_full={} safety={}",
                      windows_are_2a ? "2A" : "2B", microseconds_of(round_cost), microseconds_of(poll_delay),
                      stall, microseconds_of(stall_time), port_full, safety_fraction);
  for (std::uint32_t pair = 0; pair < all_pairs(); ++pair) {
    text += fmt::format(" {}{}{}", name(ends[pair][0]), name(ends[pair][1]),
                        is_xrc[pair]                ? "(xrc)"
                        : repeats_selectively[pair] ? "(selective)"
                                                    : "");
  }
  for (std::uint32_t host = 0; host < hosts; ++host) text += describe(links[host], host_id(host));
  for (std::uint32_t host = 0; host < hosts; ++host) {
    if (congestion[host].is_none()) continue;
    text += fmt::format(" cc={}:{}", name(host_id(host)), name_of_controller(congestion[host]));
  }
  for (const Partition& cut : partitions) {
    text +=
        fmt::format(" partition={}>{}@{}..{}us", name(cut.from), name(cut.to),
                    cut.begin.time_since_epoch().count() / 1000, cut.end.time_since_epoch().count() / 1000);
  }
  for (const ExactLoss& loss : exact_losses) {
    text +=
        fmt::format(" lose={}:{}#{}+{}", name(loss.from), sim::to_string(loss.kind), loss.first, loss.count);
  }
  for (std::uint32_t host = 0; host < hosts; ++host) {
    if (has_adversary(host_id(host))) text += describe(*adversaries[host], host_id(host));
  }
  if (topology) {
    text += fmt::format(" topology=[{}] dscps=", describe(*topology));
    for (std::uint32_t pair = 0; pair < all_pairs(); ++pair) {
      text += fmt::format("{}{}", pair == 0 ? "" : "/", traffic_classes[pair] >> 2);
    }
  }
  if (connections.attempts == 0) return text;
  text += fmt::format(" rdma_cm={} cm_loss={} cm_dup={} cm_late={}x{}us cm_faults={}us slow={} may_leave={}",
                      connections.attempts, connections.loss, connections.duplication, connections.lateness,
                      microseconds_of(connections.delay), microseconds_of(connections.faults_until),
                      connections.is_slow, connections.may_leave);
  for (const Partition& cut : connections.cuts) {
    text +=
        fmt::format(" cm_cut={}>{}@{}..{}us", name(cut.from), name(cut.to),
                    cut.begin.time_since_epoch().count() / 1000, cut.end.time_since_epoch().count() / 1000);
  }
  return text;
}

}  // namespace urnic::sim
