#include "daemon/drivers/main_part.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "daemon/log.h"
#include "machine/overloaded.h"
#include "platform/host.h"
#include "platform/whole_file.h"
#include "protocol/membership/membership_record.h"

namespace tempo::daemon {
namespace {

using membership::Ask;
using membership::Beacon;
using membership::Release;
using Status = node::Reading::Status;

constexpr std::size_t kMaxRecordBytes = 4096;
constexpr Nanos kLease = 5s;             // of a grant
constexpr Nanos kPollGap = 1h;           // longest time between two calls of wake()
constexpr Nanos kShortGap = 2 * kLease;  // until a part without a main master counts as a minority
constexpr std::uint64_t kExchangesToCatchUp = 2;

// Rates at which the times of two parts move apart: each part by its own wander, and the main part
// by slews that this one does not hear of; faster when the main part may have forgotten this one.
constexpr double kTwoWanders = 20e-6;
constexpr double kSlew = 1e-6;
constexpr double kFastSlew = 100e-6;

Nanos moved_apart(Nanos gap, Nanos forget_after) {
  const Nanos late = std::max(gap - forget_after, Nanos{0});
  return node::share_of(gap, kTwoWanders) + node::share_of(gap - late, kSlew) +
         node::share_of(late, kFastSlew) + 1ns;
}

node::Reading unknown(node::Reading reading) {
  return {.time = reading.time,
          .earliest = WallTime::min(),
          .latest = WallTime::max(),
          .status = Status::unsynchronized};
}

wire::ViewBody body_of(const membership::View& view) {
  wire::ViewBody body{.lineage = view.lineage,
                      .number = view.number,
                      .tie_breaker = std::to_underlying(view.tie_breaker),
                      .timescale_generation = view.timescale_generation};
  for (const membership::MemberId member : view.members)
    body.members.push_back(std::to_underlying(member));
  return body;
}
membership::View view_of(const wire::ViewBody& body) {
  membership::View view{.lineage = body.lineage,
                        .number = body.number,
                        .tie_breaker = membership::MemberId{body.tie_breaker},
                        .timescale_generation = body.timescale_generation};
  for (const std::uint64_t member : body.members)
    view.members.push_back(membership::MemberId{member});
  return view;
}
static_assert(wire::ViewBody::kMax == membership::kMaxMembers);
static_assert(wire::MembershipBody::kWishes == std::to_underlying(membership::Wish::last));

wire::WireBallot body_of(const membership::Ballot& ballot) {
  return {.round = ballot.round, .master = std::to_underlying(ballot.master)};
}
membership::Ballot ballot_of(const wire::WireBallot& body) {
  return {.round = body.round, .master = membership::MemberId{body.master}};
}

membership::Membership make_machine(const DaemonIdentity& identity,
                                    const membership::Rules& rules) {
  membership::Membership::Start start;
  while (start.fresh == membership::kNoMember)
    start.fresh = membership::MemberId{sys::kernel_random()};
  start.first = Sequence{static_cast<std::uint32_t>(sys::kernel_random())};
  const std::string path = membership_path(identity.settings.state_dir);
  const sys::Record read = sys::read_record(path, kMaxRecordBytes);
  const auto saved =
      read.state == sys::FileState::good ? membership::parse_record(read.text) : std::nullopt;
  if (saved && saved->host == identity.host)
    start.record = saved->record;
  else if (read.state != sys::FileState::absent)
    log_error(fmt::format(
        "the membership record is lost: {}; this machine joins as a new member, and the old one is "
        "forgotten after an hour",
        read.state == sys::FileState::lost ? read.error
        : saved                            ? path + " is the record of another machine"
                                           : path + " is no membership record"));
  return {start, rules};
}

}  // namespace

std::string membership_path(const std::string& state_dir) { return state_dir + "/membership"; }

wire::MembershipBody body_of(const membership::Message& message) {
  using Kind = wire::MembershipBody::Kind;
  return std::visit(
      Overloaded{[](const Ask& ask) {
                   return wire::MembershipBody{.kind = Kind::ask,
                                               .wish = std::to_underlying(ask.wish),
                                               .number = std::to_underlying(ask.number),
                                               .answers = std::to_underlying(ask.granted),
                                               .self = std::to_underlying(ask.self),
                                               .ballot = body_of(ask.ballot),
                                               .promised = body_of(ask.promised),
                                               .accepted_in = body_of(ask.accepted_in),
                                               .view = body_of(ask.view),
                                               .next = body_of(ask.accepted)};
                 },
                 [](const Beacon& beacon) {
                   return wire::MembershipBody{
                       .kind = Kind::beacon,
                       .urgent = beacon.urgent,
                       .number = std::to_underlying(beacon.number),
                       .answers = std::to_underlying(beacon.asked),
                       .ballot = body_of(beacon.ballot),
                       .main_for = beacon.main_for,
                       .view = body_of(beacon.view),
                       .next = beacon.proposes ? body_of(beacon.proposal) : wire::ViewBody{}};
                 },
                 [](const Release& release) {
                   return wire::MembershipBody{.kind = Kind::release,
                                               .ballot = body_of(release.ballot)};
                 }},
      message);
}

membership::Message message_of(const wire::MembershipBody& body) {
  using Kind = wire::MembershipBody::Kind;
  if (body.kind == Kind::release) return Release{ballot_of(body.ballot)};
  if (body.kind == Kind::beacon)
    return Beacon{.number = Sequence{body.number},
                  .asked = Sequence{body.answers},
                  .ballot = ballot_of(body.ballot),
                  .main_for = body.main_for,
                  .urgent = body.urgent,
                  .view = view_of(body.view),
                  .proposes = body.next.lineage != 0,
                  .proposal = view_of(body.next)};
  return Ask{.number = Sequence{body.number},
             .self = membership::MemberId{body.self},
             .wish = static_cast<membership::Wish>(body.wish),
             .ballot = ballot_of(body.ballot),
             .granted = Sequence{body.answers},
             .promised = ballot_of(body.promised),
             .view = view_of(body.view),
             .accepted_in = ballot_of(body.accepted_in),
             .accepted = view_of(body.next)};
}

node::Reading judged(node::Reading reading, const Standing& standing, Nanos forget_after) {
  if (reading.status == Status::unsynchronized) return reading;
  const bool main = standing.now < standing.main_until;
  if (reading.status == Status::alone) {
    if (!standing.in_view_with_others) return reading;
    reading.status = Status::leads;
  }
  if (main && standing.gap == Nanos{0}) return reading;
  if (standing.main_until == BootTime::min()) return unknown(reading);
  const Nanos gap = main ? standing.gap : standing.now - standing.main_until;
  const Nanos apart = moved_apart(gap, forget_after);
  reading.earliest -= apart;
  reading.latest += apart;
  reading.status = gap <= kShortGap ? Status::holdover : Status::minority;
  return reading;
}

MainPart::MainPart(const Parts& parts)
    : parts_(parts),
      rules_(membership::rules_for(kLease)),
      machine_(make_machine(*parts.identity, rules_), BootClock{}, *parts.draw,
               {.carry_out =
                    [this](const Output<membership::Membership>& output) {
                      if (output.kind == OutputKind::send)
                        parts_.transport->send(output.to, body_of(output.message));
                      else if (output.kind == OutputKind::notice)
                        parts_.on_notice(output.notice);
                    },
                .write = [this](std::uint64_t number,
                                const membership::Record& record) { write(number, record); }}) {}

void MainPart::write(std::uint64_t number, const membership::Record& record) {
  const std::string text = membership::text_of({.host = parts_.identity->host, .record = record});
  if (parts_.parent != nullptr) {
    parts_.parent->send(fmt::format("{}\t{}\t{}", kWriteMembership, number, text));
    return;
  }
  const auto done = sys::write_record(membership_path(parts_.identity->settings.state_dir), text);
  if (!done)
    return log_error(fmt::format("no vote on the main part: cannot save the membership record: {}",
                                 done.error()));
  machine_.finish_write(number);
}

void MainPart::follow(const node::Sync& sync) {
  note_gap(sync);
  if (sync.leads() == leads_ && sync.reference() == master_) return;
  leads_ = sync.leads();
  master_ = sync.reference();
  if (leads_)
    machine_.command(membership::Lead{});
  else
    machine_.command(membership::Follow{master_});
}

// After a time without a main part the clock may be far from network time. A follower's has made
// up for it after some exchanges with the main master; the main master's is network time.
void MainPart::note_gap(const node::Sync& sync) {
  const BootTime now = sys::boot_clock();
  const BootTime until = main_until();
  if (until == BootTime::min()) return;
  if (now >= until) {
    gap_ = std::max(gap_, now - until);
    exchanges_ = sync.exchanges();
  } else if (sync.leads() ||
             (sync.settled() && sync.exchanges() >= exchanges_ + kExchangesToCatchUp)) {
    gap_ = Nanos{0};
  }
}

void MainPart::receive(NodeId from, const wire::MembershipBody& body) {
  machine_.receive(from, message_of(body));
}

Nanos MainPart::next() const {
  return std::clamp(machine_.deadline() - std::min(sys::boot_clock(), machine_.deadline()),
                    Nanos{0}, Nanos{kPollGap});
}

node::Reading MainPart::judged(const node::Reading& reading, Nanos ahead) const {
  const membership::View& view = machine().view();
  const bool others =
      view.members.size() > 1 || (view.members.size() == 1 && !view.has(machine().self()));
  return daemon::judged(reading,
                        {.now = sys::boot_clock() + ahead,
                         .main_until = main_until(),
                         .in_view_with_others = others,
                         .gap = gap_},
                        rules_.forget_after);
}

}  // namespace tempo::daemon
