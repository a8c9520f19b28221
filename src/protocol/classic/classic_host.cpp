#include "protocol/classic/classic_host.h"

#include <algorithm>

#include <fmt/core.h>

#include "machine/overloaded.h"

namespace tempo::classic {
namespace {

using election::Kind;
using election::MasterElection;
using election::State;
using wire::tsp::Datagram;
using wire::tsp::Type;

constexpr std::uint16_t kExtraBase = 0x8000;  // far from the numbers of the election

// The election's message of a TSP type; unset: not part of the election.
std::optional<Kind> kind_of(Type type) {
  switch (type) {
    case Type::adjtime:
      return Kind::adjtime;
    case Type::ack:
      return Kind::ack;
    case Type::masterreq:
      return Kind::masterreq;
    case Type::masterack:
      return Kind::masterack;
    case Type::settime:
      return Kind::settime;
    case Type::masterup:
      return Kind::masterup;
    case Type::slaveup:
      return Kind::slaveup;
    case Type::election:
      return Kind::election;
    case Type::accept:
      return Kind::accept;
    case Type::refuse:
      return Kind::refuse;
    case Type::conflict:
      return Kind::conflict;
    case Type::resolve:
      return Kind::resolve;
    case Type::quit:
      return Kind::quit;
    case Type::loop:
      return Kind::loop;
    default:
      return std::nullopt;
  }
}

std::optional<Type> type_of(Kind kind) {
  for (std::uint8_t number = 1; number <= wire::tsp::kLastType; ++number)
    if (kind_of(Type{number}) == kind) return Type{number};
  return std::nullopt;  // stale, masterdown: TSP has no such type
}

bool rules(State state) { return state == State::master || state == State::conflict; }
bool rules(const MasterElection& election) { return rules(election.state()); }

}  // namespace

ClassicHost::ClassicHost(const Identity& identity, const election::Rules& rules,
                         const Options& options, const clock::SteeredClock& clock)
    : identity_(identity), rules_(&rules), options_(options), clock_(clock) {
  CHECK(rules.variant == variant() && rules.repeats == 0);
}

void ClassicHost::start(Turn<ClassicHost>& turn) {
  for (std::uint8_t i = 0; i < kMaxNetworks; ++i)
    if ((unsigned{identity_.networks} >> i & 1U) != 0) join(turn, i);
}

void ClassicHost::join(Turn<ClassicHost>& turn, std::uint8_t network) {
  if (network >= kMaxNetworks || slots_[network]) return;
  Slot& slot = slots_[network].emplace(Slot{
      .election = {{.self = identity_.self,
                    .incarnation = identity_.incarnation,
                    .priority = options_.may_lead ? election::kMaxPriority : election::kIneligible},
                   *rules_}});
  slot.numbers = OutgoingNumbers(static_cast<std::uint16_t>(turn.draw.below(0x10000)));
  slot.measure_id = static_cast<std::uint16_t>(turn.draw.below(0x10000));
  step_election(turn, network, [](auto& machine, auto& inner) { machine.start(inner); });
}

void ClassicHost::command(Turn<ClassicHost>& turn, const Command& command) {
  if (stopped_) return;
  if (const Join* one = std::get_if<Join>(&command)) return join(turn, one->network);
  stopped_ = true;
  timers_.stop_all();
  for (std::uint8_t i = 0; i < kMaxNetworks; ++i)
    if (slots_[i])
      step_election(turn, i, [](auto& machine, auto& inner) {
        machine.command(inner, election::Command::stop);
      });
}

void ClassicHost::receive(Turn<ClassicHost>& turn, NodeId from, const Packet& packet) {
  if (stopped_ || packet.network >= kMaxNetworks || !slots_[packet.network]) return;
  switch (packet.kind) {
    case Packet::Kind::timestamp_request:
      return answer_timestamp(turn, from, packet);
    case Packet::Kind::timestamp_reply:
      return receive_timestamp(turn, from, packet);
    case Packet::Kind::tsp:
      return receive_tsp(turn, from, packet);
  }
}

void ClassicHost::receive_tsp(Turn<ClassicHost>& turn, NodeId from, const Packet& packet) {
  switch (packet.datagram.type) {
    case Type::loop:
      return receive_loop(turn, from, packet);
    case Type::test:
    case Type::msite:
    case Type::msitereq:
    case Type::traceon:
    case Type::traceoff:
      return receive_control(turn, from, packet);
    case Type::setdate:
    case Type::setdatereq:
      return receive_date(turn, from, packet);
    default:
      // An own broadcast has the own name.
      if (from != kStranger && packet.datagram.name != identity_.name)
        receive_election(turn, from, packet);
  }
}

// --- the old control messages ---

void ClassicHost::receive_control(Turn<ClassicHost>& turn, NodeId from, const Packet& packet) {
  const Datagram& datagram = packet.datagram;
  Datagram ack{.type = Type::ack, .sequence = datagram.sequence, .name = identity_.name};
  switch (datagram.type) {
    case Type::test:
      step_election(turn, packet.network, [](auto& machine, auto& inner) {
        machine.command(inner, election::Command::stand);
      });
      break;
    case Type::msite:
    case Type::msitereq: {
      // The answer of a slave has the name of its master. A Msitereq is a broadcast of a slave:
      // only the master answers.
      if (datagram.type == Type::msitereq && !rules(slots_[packet.network]->election)) break;
      ack.name = master_of(packet.network);
      if (ack.name.size() > 0) send(turn, packet.network, from, ack);
      break;
    }
    default:
      send(turn, packet.network, from, ack);
      turn.out.notify(Tracing{datagram.type == Type::traceon});
  }
}

// A Setdate is a request of a local program; a slave asks its master with Setdatereq.
void ClassicHost::receive_date(Turn<ClassicHost>& turn, NodeId from, const Packet& packet) {
  const Datagram& datagram = packet.datagram;
  if (datagram.name == identity_.name && from != kStranger) return;
  const Nanos by = std::chrono::microseconds(datagram.micros - micros(turn.now));
  if (!options_.setdate) {
    turn.out.notify(Refused{.reason = Refused::Reason::setdate, .by = by, .peer = datagram.name});
    return;
  }
  Slot& slot = *slots_[packet.network];
  if (datagram.type == Type::setdatereq && !rules(slot.election)) return;
  const Datagram answer{
      .type = Type::dateack, .sequence = datagram.sequence, .name = identity_.name};
  if (upstream_ != kNoNetwork) {
    const std::uint8_t up = upstream_;
    send(turn, up, slots_[up]->election.master(),
         {.type = Type::setdatereq,
          .sequence = static_cast<std::uint16_t>(kExtraBase + extra_++),
          .micros = datagram.micros,
          .name = identity_.name});
    send(turn, packet.network, from, answer);
    return;
  }
  const bool leads =
      std::ranges::any_of(slots_, [](const auto& one) { return one && rules(one->election); });
  if (!leads) return;
  send(turn, packet.network, from, answer);
  correct(turn, by, true, datagram.name);
  spread_time(turn);
}

// Settime to every slave of this host.
void ClassicHost::spread_time(Turn<ClassicHost>& turn) {
  for (std::uint8_t i = 0; i < kMaxNetworks; ++i) {
    if (!slots_[i] || !rules(slots_[i]->election)) continue;
    slots_[i]->election.list().for_each([&](NodeId to) {
      send(turn, i, to,
           {.type = Type::settime,
            .sequence = static_cast<std::uint16_t>(kExtraBase + extra_++),
            .micros = micros(turn.now),
            .name = identity_.name});
    });
  }
}

// --- Loop ---

void ClassicHost::receive_loop(Turn<ClassicHost>& turn, NodeId from, const Packet& packet) {
  const Datagram& loop = packet.datagram;
  Slot& slot = *slots_[packet.network];
  const bool forwarded = loop.hops != wire::tsp::kHops;
  if (loop.name == identity_.name) {
    // The own broadcast, or the own Loop that a submaster has forwarded: then the time of this
    // network's master comes from this host.
    if (!forwarded || upstream_ != packet.network) return;
    slot.barred = slot.election.master();
    turn.out.notify(TimeLoop{packet.network});
    choose_upstream();
    return;
  }
  if (!forwarded && from != kStranger) receive_election(turn, from, packet);
  if (upstream_ != packet.network || loop.hops <= 1) return;
  Datagram onward = loop;
  --onward.hops;
  for (std::uint8_t i = 0; i < kMaxNetworks; ++i)
    if (i != packet.network && slots_[i] && rules(slots_[i]->election)) broadcast(turn, i, onward);
}

// --- the election ---

void ClassicHost::receive_election(Turn<ClassicHost>& turn, NodeId from, const Packet& packet) {
  const std::optional<Kind> kind = kind_of(packet.datagram.type);
  Slot& slot = *slots_[packet.network];
  Peer* const sender = kind ? peer(slot, from) : nullptr;
  if (sender == nullptr) return;
  const Datagram& datagram = packet.datagram;
  sender->name = datagram.name;
  election::Message message{.kind = *kind};
  if (*kind == Kind::ack) {
    message.answers = slot.numbers.sent(datagram.sequence);
    message.subject_incarnation = identity_.incarnation;
    if (message.answers == kNoSequence) return;
  } else if (*kind == Kind::masterack) {
    // It echoes the number of the question. An answer to nothing is a forgery or a relic.
    if (datagram.sequence != slot.numbers.on_wire(slot.call) &&
        datagram.sequence != slot.numbers.on_wire(slot.resolve))
      return;
  } else {
    const auto numbered =
        sender->numbers.number(turn.now, datagram.type, datagram.sequence, rules_->timing.accept);
    // A Masterreq with a number of its own is a new start: the machine tells a master that has
    // restarted from one that still leads.
    if (*kind == Kind::masterreq && numbered.fresh) ++sender->starts;
    message.sequence = numbered.sequence;
  }
  if (election::answer(*kind)) message.answers = slot.call;  // TSP does not say which Election
  message.incarnation = Incarnation{sender->starts};
  message.epoch = {0, from, message.incarnation};
  slot.answered = datagram.sequence;
  step_election(
      turn, packet.network,
      [&](auto& machine, auto& inner) { machine.receive(inner, from, message); }, &datagram);
}

template <class Step>
void ClassicHost::step_election(Turn<ClassicHost>& turn, std::uint8_t network, Step step,
                                const Datagram* received) {
  const State before = slots_[network]->election.state();
  step_part(turn, slots_[network]->election, step, [&](const Outbox<MasterElection>& out) {
    for (const auto& output : out)
      if (output.kind == OutputKind::notice)
        on_notice(turn, network, output.notice, received);
      else
        send_message(turn, network, output);
  });
  after_step(turn, network, before);
}

void ClassicHost::send_message(Turn<ClassicHost>& turn, std::uint8_t network,
                               const Output<MasterElection>& output) {
  Slot& slot = *slots_[network];
  const election::Message& message = output.message;
  const std::optional<Type> type = type_of(message.kind);
  if (!type) return;
  Datagram datagram{.type = *type, .name = identity_.name};
  switch (message.kind) {
    case Kind::ack:
    case Kind::masterack:
      datagram.sequence = slot.answered;
      break;
    case Kind::masterup:
    case Kind::slaveup:
      break;  // 0
    default:
      datagram.sequence = slot.numbers.on_wire(message.sequence);
  }
  if (election::call(message.kind)) slot.call = message.sequence;
  if (message.kind == Kind::resolve) slot.resolve = message.sequence;
  if (message.kind == Kind::loop) datagram.hops = wire::tsp::kHops;
  if (message.kind == Kind::settime) datagram.micros = micros(turn.now);
  if (message.kind == Kind::adjtime) {
    // A slave that could not be measured gets nothing; the machine drops it from the list when it
    // has answered nothing for the time of all retransmissions.
    const Peer* const to = find_peer(slot, output.to);
    if (to == nullptr || !to->correction) return;
    datagram.micros =
        std::chrono::duration_cast<std::chrono::microseconds>(*to->correction).count();
  }
  if (output.kind == OutputKind::broadcast)
    broadcast(turn, network, datagram);
  else
    send(turn, network, output.to, datagram);
}

void ClassicHost::on_notice(Turn<ClassicHost>& turn, std::uint8_t network,
                            const election::Notice& notice, const Datagram* received) {
  Slot& slot = *slots_[network];
  switch (notice.news) {
    case election::Change::adjusted:
    case election::Change::set: {
      choose_upstream();
      CHECK(received != nullptr);
      if (upstream_ != network && upstream_ != kNoNetwork) break;
      // A starting host is not yet a slave; its first correction counts all the same.
      if (upstream_ == kNoNetwork && slot.barred == notice.peer) break;
      const bool set = notice.news == election::Change::set;
      const Nanos by =
          std::chrono::microseconds(set ? received->micros - micros(turn.now) : received->micros);
      if (std::chrono::abs(by) > options_.correction_limit) {
        turn.out.notify(
            Refused{.reason = Refused::Reason::correction_limit, .by = by, .peer = received->name});
        break;
      }
      correct(turn, by, set, received->name);
      break;
    }
    case election::Change::peer_down: {
      const Peer* const peer = find_peer(slot, notice.peer);
      turn.out.notify(
          PeerDown{.network = network, .peer = peer == nullptr ? wire::Name{} : peer->name});
      break;
    }
    case election::Change::ended:
    case election::Change::leads:
    case election::Change::follows:
      break;  // after_step reports the state
  }
}

void ClassicHost::after_step(Turn<ClassicHost>& turn, std::uint8_t network, State before) {
  Slot& slot = *slots_[network];
  const State state = slot.election.state();
  // A newcomer of 4.3BSD, and a master that has quit, presents itself with Slaveup, and only then a
  // master of 4.3BSD lists it.
  if ((before == State::consistency || rules(before)) && state == State::slave && !stopped_)
    send(turn, network, slot.election.master(), {.type = Type::slaveup, .name = identity_.name});
  if (slot.barred != slot.election.master()) slot.barred = kNobody;
  choose_upstream();
  plan_round(network, turn.now);
  const wire::Name master = master_of(network);
  if (state == slot.shown && master == slot.shown_master) return;
  slot.shown = state;
  slot.shown_master = master;
  turn.out.notify(StateChanged{.network = network, .state = state, .master = master});
}

// The first network, in their order, in which this host is a slave; it keeps the one it has.
void ClassicHost::choose_upstream() {
  const auto usable = [](const std::optional<Slot>& slot) {
    if (!slot || rules(slot->election)) return false;
    const NodeId master = slot->election.master();
    const State state = slot->election.state();
    return master != kNobody && master != slot->barred && master != slot->election.self() &&
           state != State::startup && state != State::no_master;
  };
  if (upstream_ != kNoNetwork && usable(slots_[upstream_])) return;
  upstream_ = kNoNetwork;
  for (std::uint8_t i = kMaxNetworks; i-- > 0;)
    if (usable(slots_[i])) upstream_ = i;
}

// --- timers ---

void ClassicHost::on_timer(Turn<ClassicHost>& turn, TimerId timer) {
  timers().locate(timer, [&]<std::size_t kPart>(Part<kPart>, TimerId own) {
    constexpr std::size_t kPerNetwork = Timers<election::Timer>::kCount;
    if constexpr (kPart == 0) {
      const auto network = static_cast<std::uint8_t>(std::to_underlying(own) / kPerNetwork);
      const TimerId inner_id = timer_id(std::to_underlying(own) % kPerNetwork);
      if (!slots_[network] || turn.now < slots_[network]->election.timers().at(inner_id)) return;
      const bool round = inner_id == timer_id(election::Timer::sync);
      const Nanos own_correction = round ? finish_round(network) : 0ns;
      step_election(turn, network,
                    [&](auto& machine, auto& inner) { machine.on_timer(inner, inner_id); });
      // The master corrects itself last.
      if (own_correction != Nanos{0}) correct(turn, own_correction, false, {});
    } else {
      if (!timers_.take_due(own, turn.now)) return;
      if (own == timer_id(OwnTimer::slew))
        clock_.set_rate(turn.now, 0);
      else
        measure(turn, std::to_underlying(own));
    }
  });
}

// --- helpers ---

void ClassicHost::send(Turn<ClassicHost>& turn, std::uint8_t network, NodeId to,
                       const Datagram& datagram) {
  if (to == kNobody) return;
  turn.out.send(to, {.network = network, .datagram = datagram});
}

void ClassicHost::broadcast(Turn<ClassicHost>& turn, std::uint8_t network,
                            const Datagram& datagram) {
  turn.out.broadcast({.network = network, .datagram = datagram});
}

ClassicHost::Peer* ClassicHost::peer(Slot& slot, NodeId id) {
  const auto place = std::ranges::lower_bound(slot.peers, id, {}, &std::pair<NodeId, Peer>::first);
  if (place != slot.peers.end() && place->first == id) return &place->second;
  if (slot.peers.size() >= kMaxPeers) return nullptr;
  return &slot.peers.insert(place, {id, Peer{}})->second;
}

const ClassicHost::Peer* ClassicHost::find_peer(const Slot& slot, NodeId id) const {
  const auto place = std::ranges::lower_bound(slot.peers, id, {}, &std::pair<NodeId, Peer>::first);
  return place != slot.peers.end() && place->first == id ? &place->second : nullptr;
}

wire::Name ClassicHost::master_of(std::uint8_t network) const {
  if (network >= kMaxNetworks || !slots_[network]) return {};
  const Slot& slot = *slots_[network];
  if (rules(slot.election)) return identity_.name;
  const Peer* const master = find_peer(slot, slot.election.master());
  return master == nullptr ? wire::Name{} : master->name;
}

const char* ClassicHost::check() const {
  for (const auto& slot : slots_) {
    if (!slot) continue;
    if (const char* const violated = slot->election.check()) return violated;
    if (slot->peers.size() > kMaxPeers) return "too many peers";
  }
  if (upstream_ != kNoNetwork && (!slots_[upstream_] || rules(slots_[upstream_]->election)))
    return "the clock follows a network in which the host leads";
  return nullptr;
}

std::string_view name_of(Refused::Reason reason) {
  return reason == Refused::Reason::setdate ? "setdate" : "correction limit";
}

std::string text_of(const Packet& packet) {
  if (packet.kind == Packet::Kind::timestamp_request) return "timestamp-request";
  if (packet.kind == Packet::Kind::timestamp_reply) return "timestamp-reply";
  const Datagram& datagram = packet.datagram;
  std::string text{wire::tsp::name_of(datagram.type)};
  if (datagram.type == Type::adjtime)
    text += fmt::format(" {:+.3f} ms", static_cast<double>(datagram.micros) / 1e3);
  else if (wire::tsp::carries_time(datagram.type))
    text += fmt::format(" {:.3f} s", static_cast<double>(datagram.micros) / 1e6);
  if (datagram.type == Type::loop) text += fmt::format(" hops {}", datagram.hops);
  return fmt::format("{} of {}", text, datagram.name.text());
}

}  // namespace tempo::classic
