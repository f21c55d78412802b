// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/experiment.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace urnic::experiment {

using transport::kNever;

namespace {

/// A network with paused ports is never silent. One that has delivered nothing for so long, and in which no
/// device waits for a time, will never do anything else.
constexpr Duration kStalled = std::chrono::seconds(1);

std::uint64_t key_of(HostId host, transport::QpNumber qp) {
  return static_cast<std::uint64_t>(host) << 32 | transport::to_integer(qp);
}

std::size_t place(HostId host) {
  return static_cast<std::size_t>(host);
}

/// What the hosts read, write and receive into: as much as the longest message.
std::size_t memory_for(const Workload& workload) {
  std::uint32_t longest = 1;
  for (const Job& job : workload.jobs) longest = std::max(longest, job.message_bytes);
  return longest;
}

bool sends_something(const Step& step) {
  return step.operation != Operation::kCompute;
}

std::unique_ptr<drivers::NetworkFaults> faults_of(const network::Topology& topology) {
  auto faults = drivers::NetworkFaults::create(topology);
  if (!faults) throw std::runtime_error(faults.error().message);
  return std::move(faults.value());
}

}  // namespace

Experiment::Experiment(const network::Topology& topology, const Workload& workload, std::uint64_t seed)
    : workload_(workload),
      link_faults_(faults_of(topology)),
      network_(topology, seed, clock_.now()),
      memory_(memory_for(workload)),
      world_{.network = network_,
             .clock = clock_,
             .workload = workload,
             .memory = memory_,
             .seed = seed,
             .tell = [this](const std::string& line) { faults_.push_back(line); }},
      machines_(topology.hosts.size()),
      connection_of_step_(workload.steps.size()),
      tracker_(workload),
      done_bytes_(workload.steps.size()),
      is_marked_(topology.hosts.size()),
      wake_of_(topology.hosts.size(), kNever) {
  network_.set_observer(&watchers_);
  network_.set_link_faults(link_faults_.get());
  try {
    make_machines();
    make_connections();
  } catch (...) {
    shut_down();
    throw;
  }
}

Experiment::~Experiment() {
  shut_down();
}

void Experiment::make_machines() {
  // Work requests of both kinds that can be complete and not polled.
  std::vector<std::uint64_t> completions(machines_.size());
  std::vector<bool> is_needed(machines_.size());
  for (const Step& step : workload_.steps) {
    if (!sends_something(step)) continue;
    is_needed[place(step.host)] = is_needed[place(step.peer)] = true;
    const std::uint64_t posted = workload_.jobs[step.job].messages_posted;
    completions[place(step.host)] += posted;
    completions[place(step.peer)] += 2 * posted;
  }
  for (std::size_t host = 0; host < machines_.size(); ++host) {
    if (completions[host] < nic::DeviceLimits::kMaxCompletions) continue;
    throw std::runtime_error(fmt::format(
        "{} may have {} work requests that are complete and not polled; a completion queue holds {}: fewer "
        "hosts, or less 'posted'",
        network_.topology().hosts[host].name, completions[host], nic::DeviceLimits::kMaxCompletions));
  }
  for (std::size_t host = 0; host < machines_.size(); ++host) {
    if (!is_needed[host]) continue;
    const auto capacity = static_cast<std::uint32_t>(completions[host] + 1);
    machines_[host] = std::make_unique<Machine>(world_, HostId(host), capacity);
  }
}

void Experiment::make_connections() {
  using Key = std::tuple<HostId, HostId, std::uint8_t>;
  std::map<Key, Connection::Ends> ends;
  for (const Step& step : workload_.steps) {
    if (!sends_something(step)) continue;
    const Job& job = workload_.jobs[step.job];
    Connection::Ends& one = ends[Key(step.host, step.peer, job.dscp)];
    one = {.host = step.host,
           .peer = step.peer,
           .dscp = job.dscp,
           .sends = std::max(one.sends, job.messages_posted)};
  }
  std::map<Key, std::size_t> numbers;
  for (const auto& [key, one] : ends) {
    numbers.emplace(key, connections_.size());
    connections_.push_back(std::make_unique<Connection>(workload_, one, *machines_[place(one.host)],
                                                        *machines_[place(one.peer)]));
    Connection& made = *connections_.back();
    by_queue_pair_.emplace(key_of(one.host, made.requester()), &made);
    by_queue_pair_.emplace(key_of(one.peer, made.responder()), &made);
    mark(one.host);
    mark(one.peer);
  }
  for (std::size_t i = 0; i < workload_.steps.size(); ++i) {
    const Step& step = workload_.steps[i];
    if (sends_something(step)) {
      connection_of_step_[i] = numbers.at(Key(step.host, step.peer, workload_.jobs[step.job].dscp));
    }
  }
}

void Experiment::sample_every(Duration interval, std::function<void(Duration)> sample) {
  interval_ = interval;
  sample_ = std::move(sample);
  next_sample_ = clock_.now();
}

nic::Device* Experiment::device(HostId host) {
  Machine* const machine = machines_[place(host)].get();
  return machine == nullptr ? nullptr : &machine->device();
}

Outcome Experiment::run() {
  while (!tracker_.is_over() && step()) {
  }
  if (sample_) sample_(now());
  Outcome result = outcome();
  shut_down();
  result.faults = std::move(faults_);
  if (link_faults_ != nullptr) {
    const std::vector<std::string> lines = link_faults_->report();
    result.faults.insert(result.faults.end(), lines.begin(), lines.end());
  }
  return result;
}

void Experiment::shut_down() {
  // A device waits at its end for peers that may repeat, by a clock that nothing else moves any more. What it
  // sends then is not for the network, whose time stands still, nor for watchers, who may be gone.
  world_.is_over = true;
  clock_.run_by_itself(std::chrono::milliseconds(1));
  connections_.clear();
  machines_.clear();
}

/// Does what happens now and moves the clock to what happens next; false when nothing does.
bool Experiment::step() {
  network_.run_until(clock_.now(), *this);
  while (wakes_.next_time() <= clock_.now()) {
    const Wake wake = wakes_.take();
    if (wake.time != wake_of_[place(wake.host)]) continue;
    wake_of_[place(wake.host)] = kNever;
    mark(wake.host);
  }
  begin_due();
  run_marked();
  if (sample_ && next_sample_ <= clock_.now()) {
    sample_(now());
    next_sample_ += interval_;
    is_quiet_ = std::exchange(runs_sampled_, runs_) == runs_;
  }
  if (failure_.empty() && !tracker_.is_over() && is_stalled()) {
    failure_ =
        "nothing has arrived for a second, and no NIC waits for a time: queue pairs need an 'ack_timeout', "
        "or the network is deadlocked";
  }
  if (tracker_.is_over() || !failure_.empty()) return false;
  const Time next = next_time();
  if (next == kNever) return false;
  if (workload_.until != Duration{} && next.time_since_epoch() > workload_.until) {
    clock_.advance_to(Time(workload_.until));
    return false;
  }
  clock_.advance_to(next);
  return true;
}

Time Experiment::next_time() {
  Time next = network_.next_event();
  if (const auto begins = tracker_.next_time()) next = std::min(next, Time(*begins));
  next = std::min(next, wakes_.next_time());
  if (next == kNever) return next;  // samples alone do not keep an experiment alive
  // Where a whole interval was like the one before so are all until something happens.
  if (is_quiet_ && next > next_sample_) next_sample_ += (next - next_sample_) / interval_ * interval_;
  return std::max(std::min(next, next_sample_), clock_.now());
}

bool Experiment::is_stalled() const {
  return wakes_.is_empty() && !tracker_.next_time() && clock_.now() - last_delivery_ > kStalled;
}

void Experiment::begin_due() {
  while (const auto step = tracker_.next_due(now())) {
    connections_[connection_of_step_[*step]]->add(*step);
    mark(workload_.steps[*step].host);
  }
}

void Experiment::mark(HostId host) {
  if (is_marked_[place(host)]) return;
  is_marked_[place(host)] = true;
  marked_.push_back(host);
}

void Experiment::run_marked() {
  // Whatever they complete may let steps begin at once, here or elsewhere.
  while (!marked_.empty()) {
    std::vector<HostId> hosts;
    hosts.swap(marked_);
    std::sort(hosts.begin(), hosts.end());
    for (const HostId host : hosts) {
      is_marked_[place(host)] = false;
      run_machine(host);
    }
    begin_due();
  }
}

void Experiment::run_machine(HostId host) {
  ++runs_;
  Machine& machine = *machines_[place(host)];
  machine.progress([this, host](const transport::Completion& completion) { take(host, completion); });
  // A port that is full leaves a device with something to do at once; on_room() wakes it.
  const Time wanted = std::max(machine.next_timeout(), clock_.now() + Duration(1));
  if (machine.next_timeout() == kNever || wanted >= wake_of_[place(host)]) return;
  wake_of_[place(host)] = wanted;
  wakes_.add({.time = wanted, .host = host});
}

void Experiment::take(HostId host, const transport::Completion& completion) {
  Connection& connection = *by_queue_pair_.at(key_of(host, completion.qp_number));
  const bool is_requester = connection.ends().host == host && connection.requester() == completion.qp_number;
  if (completion.status != transport::CompletionStatus::kSuccess) {
    if (failure_.empty()) {
      failure_ = fmt::format(
          "{}: a work request to {} fails: {}", network_.topology().hosts[place(connection.ends().host)].name,
          network_.topology().hosts[place(connection.ends().peer)].name, name_of(completion.status));
    }
    return;
  }
  if (is_requester) {
    const Connection::Completed done = connection.on_complete();
    done_bytes_[done.step] += done.bytes;
    if (done.is_last) tracker_.complete(done.step, now());
    return;
  }
  connection.replace_receive();
  if (!completion.has_immediate) return;
  const Notice notice = Notice::of(completion.immediate);
  if (notice.is_last) tracker_.arrive(notice.step, now());
}

void Experiment::deliver(HostId host, std::span<const std::byte> frame, Time time) {
  Machine* const machine = machines_[place(host)].get();
  if (machine == nullptr) return;
  last_delivery_ = time;
  machine->deliver(frame);
  mark(host);
}

void Experiment::on_room(HostId host, unsigned, Time) {
  if (machines_[place(host)] != nullptr) mark(host);
}

}  // namespace urnic::experiment
