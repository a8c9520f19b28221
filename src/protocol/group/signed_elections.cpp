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

std::uint32_t liars_of(std::uint32_t members) { return std::min((members - 1) / 3, kMaxLiars); }

}  // namespace

std::vector<std::byte> signed_bytes(std::string_view group, const Signed& said) {
  constexpr std::string_view kPurpose = "tempo-group-b2-1";
  constexpr std::size_t kNumbers = 62;
  std::array<std::byte, kPurpose.size() + kNumbers + wire::kMaxGroupName> buffer{};
  wire::Writer out(buffer);
  const OverB2::Message& message = said.message;
  out.put_bytes(std::as_bytes(std::span(kPurpose)));
  out.put(said.list);
  out.put(said.election);
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

SignedElections::SignedElections(std::string_view group, Incarnation life, Nanos lease,
                                 const auth::NodeKeys& keys)
    : group_(group),
      life_(life),
      lease_(lease),
      keys_(&keys),
      ordered_{.members = keys.members(),
               .delay = lease / 32,
               .precision = lease / 64,
               .faulty = liars_of(keys.members()),
               .faults = broadcast::Faults::malicious},
      rules_{.members = keys.members(),
             .bound = ordered_.bound(),
             .malicious = liars_of(keys.members())} {
  CHECK(keys.members() >= kFewestMembers);
}

void SignedElections::hold(const Moment& moment, Draw& draw, Results& results) {
  const Instant now = network(moment);
  const std::uint64_t called = now_called(now);
  if (under_way(now) || called <= election_) return;
  begin(called, now, draw, results);
  step(now, draw, nullptr, results,
       [](OverB2& machine, auto& turn) { machine.command(turn, ElectionCommand::hold()); });
}

void SignedElections::receive(const Moment& moment, Draw& draw, const Signed& said,
                              Results& results) {
  const Instant now = network(moment);
  const std::uint64_t called = now_called(now);
  const bool begins = !under_way(now) && said.election > election_ && said.election + 1 >= called &&
                      said.election <= called + 1;
  if ((!begins && said.election != election_) || !genuine(said)) return;
  if (begins) begin(said.election, now, draw, results);
  if (!machine_) return;
  step(now, draw, &said, results, [&](OverB2& machine, auto& turn) {
    OverB2::Message message = said.message;
    message.hops = static_cast<std::uint8_t>(said.signatures.size());
    message.signers = 0;
    for (const Countersign& one : said.signatures)
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

// --- small ---

// It does not go back; where it was set back, all begin anew.
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

std::uint64_t SignedElections::now_called(Instant network) const {
  return static_cast<std::uint64_t>(std::max(network.time_since_epoch() / lease_, Nanos::rep{0})) +
         1;
}

// Signed by its sender and by everybody who has handed it on, each once.
bool SignedElections::genuine(const Signed& said) const {
  const OverB2::Message& message = said.message;
  if (said.list != keys_->list_id() || said.signatures.empty() ||
      said.signatures.size() > rules_.malicious + 1)
    return false;
  std::uint64_t signers = 0;
  for (const Countersign& one : said.signatures)
    if (one.member < keys_->members()) signers |= std::uint64_t{1} << one.member;
  if (static_cast<std::size_t>(std::popcount(signers)) != said.signatures.size() ||
      index(message.sender) >= keys_->members() || (signers >> index(message.sender) & 1U) == 0)
    return false;
  const std::vector<std::byte> bytes = signed_bytes(group_, said);
  return std::ranges::all_of(said.signatures, [&](const Countersign& one) {
    return keys_->verifies(one.member, bytes, one.signature);
  });
}

void SignedElections::begin(std::uint64_t election, Instant network, Draw& draw, Results& results) {
  election_ = election;
  ends_at_ = network + 2 * lease_;
  const NodeId self{keys_->self()};
  const Incarnation life{std::to_underlying(life_) + ++lives_};
  machine_.emplace(OverB2::Carrier(self, life, ordered_), election::CapacityB2(self, rules_));
  step(network, draw, nullptr, results,
       [&](OverB2& machine, auto& turn) { machine.command(turn, ElectionCommand::offer(offer_)); });
}

template <class Do>
void SignedElections::step(Instant network, Draw& draw, const Signed* heard, Results& results,
                           Do todo) {
  Outbox<OverB2> out;
  Turn<OverB2> turn{network, draw, out};
  todo(*machine_, turn);
  for (const auto& output : out) {
    if (output.kind == OutputKind::broadcast) {
      results.said.push_back(countersigned(output.message, heard));
    } else if (const auto* notice = std::get_if<ElectionNotice>(&output.notice.body)) {
      const bool somebody =
          notice->kind == ElectionNotice::Kind::elected && notice->master != kNobody;
      results.elected = somebody && index(notice->master) == keys_->self();
      results.defeated = somebody && index(notice->master) != keys_->self();
      results.nothing = !somebody;
    }
  }
}

// Our own word, or one that we hand on with the signatures it came with.
Signed SignedElections::countersigned(const OverB2::Message& message, const Signed* heard) const {
  Signed said{.list = keys_->list_id(), .election = election_, .message = message};
  if (index(message.sender) != keys_->self()) {
    CHECK(heard != nullptr);
    said.signatures = heard->signatures;
  }
  said.signatures.push_back({.member = static_cast<std::uint8_t>(keys_->self()),
                             .signature = keys_->sign(signed_bytes(group_, said))});
  return said;
}

}  // namespace tempo::groups
