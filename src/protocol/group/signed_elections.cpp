#include "protocol/group/signed_elections.h"

#include <algorithm>
#include <array>
#include <bit>

#include "protocol/wire/bytes.h"
#include "protocol/wire/group_body.h"

namespace tempo::groups {

using CapacityCommand = election::capacity::Command;
using CapacityNotice = election::capacity::Notice;

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

SignedElections::Bounds::Bounds(Nanos lease, std::uint32_t members)
    : ordered{.members = members,
              .delay = lease / 32,
              .precision = lease / 64,
              .faulty = max_byzantine_of(members),
              .faults = broadcast::Faults::malicious},
      rules{.members = members, .bound = ordered.bound(), .malicious = max_byzantine_of(members)} {
  CHECK(members >= kMinMembers);
}

SignedElections::SignedElections(const Start& start, const auth::NodeKeys& keys)
    : self_(start.self),
      group_(start.group),
      incarnation_(start.incarnation),
      lease_(start.lease),
      keys_(&keys),
      bounds_(std::make_unique<const Bounds>(start.lease, keys.members())) {}

// --- inputs ---

void SignedElections::receive(Turn<SignedElections>& turn, NodeId /*from*/,
                              const Message& envelope) {
  const WallTime now = network_.at(turn.now);
  const std::uint64_t current = current_election(now);
  const bool begins = !under_way(now) && envelope.election > election_ &&
                      envelope.election + 1 >= current && envelope.election <= current + 1;
  if ((!begins && envelope.election != election_) || !is_authentic(envelope)) return;
  if (begins) begin(turn, envelope.election);
  OverB2::Message message = envelope.message;
  message.hops = static_cast<std::uint8_t>(envelope.signatures.size());
  message.signers = 0;
  for (const Countersign& one : envelope.signatures)
    message.signers |= std::uint64_t{1} << one.member;
  step(turn, &envelope,
       [&](OverB2& machine, auto& inner) { machine.receive(inner, message.sender, message); });
}

void SignedElections::on_timer(Turn<SignedElections>& turn, TimerId /*timer*/) {
  const WallTime now = network_.at(turn.now);
  if (now >= ends_at_) machine_.reset();
  for (int i = 0; i < kMaxWakes && machine_ && machine_->timers().first() <= now; ++i)
    step(turn, nullptr, [](OverB2& machine, auto& inner) {
      machine.on_timer(inner, machine.timers().first_name());
    });
}

void SignedElections::command(Turn<SignedElections>& turn, const Command& command) {
  std::visit([&](const auto& one) { on_command(turn, one); }, command);
}

void SignedElections::on_command(Turn<SignedElections>& turn, const Hold& /*hold*/) {
  const WallTime now = network_.at(turn.now);
  const std::uint64_t current = current_election(now);
  if (under_way(now) || current <= election_) return;
  begin(turn, current);
  step(turn, nullptr,
       [](OverB2& machine, auto& inner) { machine.command(inner, CapacityCommand::hold()); });
}

void SignedElections::on_command(Turn<SignedElections>& /*turn*/, const OfferCapacity& offer) {
  offer_ = offer.capacity;
}

// If network time was set back, all elections start over.
void SignedElections::on_command(Turn<SignedElections>& turn, const NetworkClock& clock) {
  if (!network_.follow(turn.now, clock, 2 * lease_)) return;
  machine_.reset();
  election_ = 0;
}

OneTimer<BootTime> SignedElections::timers() const {
  if (!machine_) return OneTimer<BootTime>(kNever);
  return OneTimer(network_.boot_time(std::min(machine_->timers().first(), ends_at_)));
}

// --- helpers ---

bool SignedElections::under_way(WallTime network) const {
  return machine_ && !machine_->rider().decided() && network < ends_at_;
}

std::uint64_t SignedElections::current_election(WallTime network) const {
  return static_cast<std::uint64_t>(std::max(network.time_since_epoch() / lease_, Nanos::rep{0})) +
         1;
}

// Whether the sender and every relaying member have signed it, each once.
bool SignedElections::is_authentic(const SignedMessage& envelope) const {
  const OverB2::Message& message = envelope.message;
  if (envelope.list != keys_->list_id() || envelope.signatures.empty() ||
      envelope.signatures.size() > bounds_->rules.malicious + 1)
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

void SignedElections::begin(Turn<SignedElections>& turn, std::uint64_t election) {
  election_ = election;
  ends_at_ = network_.at(turn.now) + 2 * lease_;
  const NodeId member{keys_->self()};
  const Incarnation incarnation{std::to_underlying(incarnation_) + ++machines_};
  machine_.emplace(OverB2::Carrier(member, incarnation, bounds_->ordered),
                   election::CapacityB2(member, bounds_->rules));
  step(turn, nullptr, [&](OverB2& machine, auto& inner) {
    machine.command(inner, CapacityCommand::offer(offer_));
  });
}

template <class Do>
void SignedElections::step(Turn<SignedElections>& turn, const SignedMessage* received, Do todo) {
  if (!machine_) return;
  step_part_at(network_.at(turn.now), turn, *machine_, todo, [&](const Output<OverB2>& output) {
    if (pass_on(turn, output,
                [&](const auto& message) { return countersigned(message, received); }))
      return;
    if (const auto* notice = std::get_if<CapacityNotice>(&output.notice.body))
      on_notice(turn, *notice);
  });
}

void SignedElections::on_notice(Turn<SignedElections>& turn, const CapacityNotice& notice) const {
  if (notice.kind != CapacityNotice::Kind::elected || notice.master == kNobody)
    turn.out.notify(NoResult{});
  else if (index(notice.master) == keys_->self())
    turn.out.notify(Elected{self_, Algorithm::b2});
  else
    turn.out.notify(Defeated{Algorithm::b2});
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
