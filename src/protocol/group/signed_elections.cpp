#include "protocol/group/signed_elections.h"

#include <algorithm>
#include <array>
#include <bit>

#include "protocol/wire/bytes.h"
#include "protocol/wire/group_body.h"

namespace tempo::groups {

using ElectionCommand = election::capacity::Command;
using ElectionNotice = election::capacity::Notice;

namespace {

std::uint32_t max_byzantine_of(std::uint32_t members) {
  return std::min((members - 1) / 3, kMaxByzantine);
}

}  // namespace

std::vector<std::byte> signed_bytes(std::string_view group, const SignedMessage& envelope) {
  constexpr std::string_view kPurpose = "tempo-group-b2-1";
  constexpr std::size_t kNumbers = 62;
  std::array<std::byte, kPurpose.size() + kNumbers + wire::kMaxGroupName> buffer{};
  wire::Writer out(buffer);
  const OverB2::Message& message = envelope.message;
  out.put_bytes(std::as_bytes(std::span(kPurpose)));
  out.put(envelope.list);
  out.put(envelope.election);
  out.put(static_cast<std::uint8_t>(message.kind));
  out.put(static_cast<std::uint8_t>(message.content.kind));
  out.put(index(message.sender));
  out.put(message.number);
  out.put(std::to_underlying(message.life));
  out.put(std::int64_t{message.stamp.count()});
  out.put(std::int64_t{message.delay.count()});
  out.put(message.content.number);
  out.put(std::int64_t{message.content.capacity});
  out.put(message.content.size);
  out.put_bytes(std::as_bytes(std::span(group)));
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(out.written())};
}

SignedElections::SignedElections(std::string_view group, Incarnation incarnation, Nanos lease,
                                 const auth::NodeKeys& keys)
    : group_(group),
      incarnation_(incarnation),
      lease_(lease),
      keys_(&keys),
      ordered_{.members = keys.members(),
               .delay = lease / 32,
               .precision = lease / 64,
               .faulty = max_byzantine_of(keys.members()),
               .faults = broadcast::Faults::malicious},
      rules_{.members = keys.members(),
             .bound = ordered_.bound(),
             .malicious = max_byzantine_of(keys.members())} {
  CHECK(keys.members() >= kMinMembers);
}

void SignedElections::hold(const Moment& moment, Draw& draw, Results& results) {
  const Instant now = network(moment);
  const std::uint64_t current = current_election(now);
  if (under_way(now) || current <= election_) return;
  begin(current, now, draw, results);
  step(now, draw, nullptr, results,
       [](OverB2& machine, auto& turn) { machine.command(turn, ElectionCommand::hold()); });
}

void SignedElections::receive(const Moment& moment, Draw& draw, const SignedMessage& envelope,
                              Results& results) {
  const Instant now = network(moment);
  const std::uint64_t current = current_election(now);
  const bool begins = !under_way(now) && envelope.election > election_ &&
                      envelope.election + 1 >= current && envelope.election <= current + 1;
  if ((!begins && envelope.election != election_) || !is_authentic(envelope)) return;
  if (begins) begin(envelope.election, now, draw, results);
  if (!machine_) return;
  step(now, draw, &envelope, results, [&](OverB2& machine, auto& turn) {
    OverB2::Message message = envelope.message;
    message.hops = static_cast<std::uint8_t>(envelope.signatures.size());
    message.signers = 0;
    for (const Countersign& one : envelope.signatures)
      message.signers |= std::uint64_t{1} << one.member;
    machine.receive(turn, message.sender, message);
  });
}

void SignedElections::on_timer(const Moment& moment, Draw& draw, Results& results) {
  const Instant now = network(moment);
  if (now >= ends_at_) machine_.reset();
  for (int i = 0; i < kMaxWakes && machine_ && machine_->timers().first() <= now; ++i)
    step(now, draw, nullptr, results, [](OverB2& machine, auto& turn) {
      machine.on_timer(turn, machine.timers().first_name());
    });
}

std::optional<Nanos> SignedElections::due_in(const Moment& moment) const {
  if (!machine_) return std::nullopt;
  const Instant now = std::max(last_network_, moment.network);
  return std::max(std::min(machine_->timers().first(), ends_at_) - now, Nanos{0});
}

// --- helpers ---

// Network time never goes back; if it was set back, all elections start over.
Instant SignedElections::network(const Moment& moment) {
  if (moment.network + 2 * lease_ < last_network_) {
    machine_.reset();
    election_ = 0;
    last_network_ = moment.network;
  }
  last_network_ = std::max(last_network_, moment.network);
  return last_network_;
}

bool SignedElections::under_way(Instant network) const {
  return machine_ && !machine_->rider().decided() && network < ends_at_;
}

std::uint64_t SignedElections::current_election(Instant network) const {
  return static_cast<std::uint64_t>(std::max(network.time_since_epoch() / lease_, Nanos::rep{0})) +
         1;
}

// Whether the sender and every relaying member have signed it, each once.
bool SignedElections::is_authentic(const SignedMessage& envelope) const {
  const OverB2::Message& message = envelope.message;
  if (envelope.list != keys_->list_id() || envelope.signatures.empty() ||
      envelope.signatures.size() > rules_.malicious + 1)
    return false;
  std::uint64_t signers = 0;
  for (const Countersign& one : envelope.signatures)
    if (one.member < keys_->members()) signers |= std::uint64_t{1} << one.member;
  if (static_cast<std::size_t>(std::popcount(signers)) != envelope.signatures.size() ||
      index(message.sender) >= keys_->members() || (signers >> index(message.sender) & 1U) == 0)
    return false;
  const std::vector<std::byte> bytes = signed_bytes(group_, envelope);
  return std::ranges::all_of(envelope.signatures, [&](const Countersign& one) {
    return keys_->verifies(one.member, bytes, one.signature);
  });
}

void SignedElections::begin(std::uint64_t election, Instant network, Draw& draw, Results& results) {
  election_ = election;
  ends_at_ = network + 2 * lease_;
  const NodeId self{keys_->self()};
  const Incarnation incarnation{std::to_underlying(incarnation_) + ++machines_};
  machine_.emplace(OverB2::Carrier(self, incarnation, ordered_),
                   election::CapacityB2(self, rules_));
  step(network, draw, nullptr, results,
       [&](OverB2& machine, auto& turn) { machine.command(turn, ElectionCommand::offer(offer_)); });
}

template <class Do>
void SignedElections::step(Instant network, Draw& draw, const SignedMessage* received,
                           Results& results, Do todo) {
  Outbox<OverB2> out;
  Turn<OverB2> turn{network, draw, out};
  todo(*machine_, turn);
  for (const auto& output : out) {
    if (output.kind == OutputKind::broadcast) {
      results.messages.push_back(countersigned(output.message, received));
    } else if (const auto* notice = std::get_if<ElectionNotice>(&output.notice.body)) {
      const bool has_winner =
          notice->kind == ElectionNotice::Kind::elected && notice->master != kNobody;
      results.elected = has_winner && index(notice->master) == keys_->self();
      results.defeated = has_winner && index(notice->master) != keys_->self();
      results.nothing = !has_winner;
    }
  }
}

// A message of this host, or one that it relays with the signatures that the message carries.
SignedMessage SignedElections::countersigned(const OverB2::Message& message,
                                             const SignedMessage* received) const {
  SignedMessage envelope{.list = keys_->list_id(), .election = election_, .message = message};
  if (index(message.sender) != keys_->self()) {
    CHECK(received != nullptr);
    envelope.signatures = received->signatures;
  }
  envelope.signatures.push_back({.member = static_cast<std::uint8_t>(keys_->self()),
                                 .signature = keys_->sign(signed_bytes(group_, envelope))});
  return envelope;
}

}  // namespace tempo::groups
