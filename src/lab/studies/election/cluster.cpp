#include "lab/studies/election/cluster.h"

#include <algorithm>
#include <utility>

namespace tempo::sim::election {

using tempo::election::Command;
using tempo::election::Kind;
using tempo::election::Message;
using tempo::election::State;

namespace {

bool lossless(const Setup& setup) { return setup.link.loss == 0; }

// True if every delay of the link is below half the candidate timer.
bool prompt(const Setup& setup) {
  Nanos longest = setup.link.delay.bound();
  if (longest == Nanos::max()) return false;
  if (setup.link.reorder > 0) {
    if (setup.link.lateness.bound() == Nanos::max()) return false;
    longest += setup.link.lateness.bound();
  }
  return longest < setup.rules.timing.candidate / 2;
}

bool is_cut(Act act) {
  return act == Act::partition || act == Act::deaf || act == Act::mute || act == Act::cut;
}
bool is_fate(Act act) { return act == Act::lose || act == Act::twice || act == Act::late; }

}  // namespace

Watches::Watches(const Setup& setup, Violations& into)
    : violations(&into),
      tracer(setup.keep_trace),
      obeys_newest(into, !setup.rules.variant.no_epoch),
      conservative(into, setup.rules.timing, lossless(setup) && prompt(setup) && !setup.pauses),
      sole_candidate_wins(into, setup.rules.timing, lossless(setup) && !setup.pauses) {}

Cluster::Cluster(Setup setup) : setup_(std::move(setup)), watches_(setup_, violations_) {
  world_ = std::make_unique<Sim>(
      // A simultaneous start causes nodes squared events; otherwise a Loop to each node every few
      // milliseconds is the largest load.
      Sim::Options{.nodes = setup_.nodes,
                   .seed = setup_.seed,
                   .link = setup_.link,
                   .max_events = 1'000'000 + 50 * std::uint64_t{setup_.nodes} * setup_.nodes,
                   .events_per_second = 5'000 * std::uint64_t{setup_.nodes}},
      [this](NodeId self, Incarnation incarnation) {
        return MasterElection({self, incarnation}, setup_.rules);
      },
      watches_);
  for (std::size_t i = 0; i < setup_.rates.size() && i < setup_.nodes; ++i)
    world_->set_rate(node_at(i), setup_.rates[i]);
}

void Cluster::apply(const Fault& fault) {
  run_until(fault.at);
  begin(fault);
  if (fault.lasts == kForEver) return;
  const Instant when = fault.at + fault.lasts;
  const auto place =
      std::ranges::upper_bound(ends_, when, {}, [](const auto& entry) { return entry.first; });
  ends_.insert(place, {when, fault});
}

void Cluster::run_until(Instant limit) {
  while (!ends_.empty() && ends_.front().first <= limit) {
    world_->run_until(ends_.front().first);
    end_first();
  }
  world_->run_until(limit);
}

void Cluster::end_first() {
  const Fault fault = ends_.front().second;
  ends_.erase(ends_.begin());
  end(fault);
}

void Cluster::begin(const Fault& fault) {
  switch (fault.act) {
    case Act::start:
      if (!world_->up(fault.node)) world_->start(fault.node);
      break;
    case Act::crash:
      world_->crash(fault.node);
      break;
    case Act::hint: {
      if (!world_->up(fault.node)) break;
      const Incarnation gone = world_->machine(fault.node).incarnation();
      world_->crash(fault.node);
      world_->inject(fault.node, kNobody,
                     Message{.kind = Kind::masterdown,
                             .incarnation = gone,
                             .subject = fault.node,
                             .subject_incarnation = gone});
      break;
    }
    case Act::pause:
      world_->pause(fault.node);
      break;
    case Act::stand:
      world_->command(fault.node, Command::stand);
      break;
    case Act::stop:
      world_->command(fault.node, Command::stop);
      world_->crash(fault.node);
      break;
    case Act::calm: {
      Link calm = world_->link();
      calm.loss = calm.duplicate = calm.reorder = 0;
      world_->set_link(calm);
      break;
    }
    case Act::rough:
      world_->set_link(setup_.link);
      break;
    case Act::partition:
    case Act::deaf:
    case Act::mute:
    case Act::cut:
    case Act::lose:
    case Act::twice:
    case Act::late:
      in_force_.push_back(fault);
      if (is_cut(fault.act))
        refresh_cuts();
      else
        world_->set_delivery([this](NodeId from, NodeId to, const Message& message) {
          return fate(from, to, message);
        });
      break;
  }
}

void Cluster::end(const Fault& fault) {
  switch (fault.act) {
    case Act::crash:
    case Act::hint:
    case Act::stop:
      if (!world_->up(fault.node)) world_->start(fault.node);
      break;
    case Act::pause:
      world_->resume(fault.node);
      break;
    default: {
      const auto found = std::ranges::find_if(in_force_, [&](const Fault& other) {
        return other.at == fault.at && other.act == fault.act && other.node == fault.node &&
               other.peer == fault.peer && other.side == fault.side;
      });
      if (found == in_force_.end()) break;
      in_force_.erase(found);
      if (is_cut(fault.act)) refresh_cuts();
    }
  }
}

void Cluster::refresh_cuts() {
  const std::size_t nodes = setup_.nodes;
  std::vector<bool> partition(nodes * nodes);
  bool any = false;
  for (const Fault& fault : in_force_) {
    if (!is_cut(fault.act)) continue;
    any = true;
    std::vector<bool> inside(nodes);
    for (const NodeId id : fault.side) inside[index(id)] = true;
    for (std::size_t from = 0; from < nodes; ++from) {
      for (std::size_t to = 0; to < nodes; ++to) {
        const bool blocked =
            (fault.act == Act::partition && inside[from] != inside[to]) ||
            (fault.act == Act::deaf && to == index(fault.node)) ||
            (fault.act == Act::mute && from == index(fault.node)) ||
            (fault.act == Act::cut && from == index(fault.node) && to == index(fault.peer));
        if (blocked) partition[from * nodes + to] = true;
      }
    }
  }
  world_->set_partition(any ? std::move(partition) : std::vector<bool>{});
}

DeliveryDecision Cluster::fate(NodeId from, NodeId to, const Message& message) const {
  DeliveryDecision fate;
  for (const Fault& fault : in_force_) {
    if (!is_fate(fault.act)) continue;
    if (fault.node != kNobody && fault.node != from) continue;
    if (fault.peer != kNobody && fault.peer != to) continue;
    if (!fault.any_kind && fault.kind != message.kind) continue;
    if (fault.act == Act::lose) fate.lost = true;
    if (fault.act == Act::twice) fate.twice = true;
    if (fault.act == Act::late) fate.extra += fault.extra;
  }
  return fate;
}

NodeId Cluster::master() const {
  NodeId found = kNobody;
  for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
    const NodeId id{i};
    if (!runs(*world_, id) || world_->machine(id).state() != State::master) continue;
    if (found != kNobody) return kNobody;
    found = id;
  }
  return found;
}

}  // namespace tempo::sim::election

template class tempo::sim::World<tempo::election::MasterElection, tempo::sim::election::Watches>;
