#include "protocol/host/host_content.h"

#include <cstdint>
#include <utility>
#include <variant>

#include "machine/overloaded.h"

namespace tempo::host {
namespace {

using Clients = locks::BoundedDelayLocks::Message;
using wire::MembershipBody;

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

wire::WireBallot body_of(const membership::Ballot& ballot) {
  return {.round = ballot.round, .master = std::to_underlying(ballot.master)};
}
membership::Ballot ballot_of(const wire::WireBallot& body) {
  return {.round = body.round, .master = membership::MemberId{body.master}};
}

MembershipBody body_of(const membership::Ask& ask) {
  return {.kind = MembershipBody::Kind::ask,
          .participation = std::to_underlying(ask.participation),
          .number = std::to_underlying(ask.number),
          .answers = std::to_underlying(ask.granted),
          .self = std::to_underlying(ask.self),
          .ballot = body_of(ask.ballot),
          .promised = body_of(ask.promised),
          .accepted_in = body_of(ask.accepted_in),
          .since_main_ns = ask.since_main.count(),
          .view = body_of(ask.view),
          .next = body_of(ask.accepted)};
}
MembershipBody body_of(const membership::Beacon& beacon) {
  MembershipBody body{.kind = MembershipBody::Kind::beacon,
                      .urgent = beacon.urgent,
                      .number = std::to_underlying(beacon.number),
                      .answers = std::to_underlying(beacon.asked),
                      .ballot = body_of(beacon.ballot),
                      .main_for = beacon.main_for,
                      .view = body_of(beacon.view)};
  if (beacon.proposes) body.next = body_of(beacon.proposal);
  return body;
}
MembershipBody body_of(const membership::Release& release) {
  return {.kind = MembershipBody::Kind::release, .ballot = body_of(release.ballot)};
}

membership::Message message_of(const MembershipBody& body) {
  switch (body.kind) {
    case MembershipBody::Kind::ask:
      return membership::Ask{
          .number = Sequence{body.number},
          .self = membership::MemberId{body.self},
          .participation = static_cast<membership::Participation>(body.participation),
          .ballot = ballot_of(body.ballot),
          .granted = Sequence{body.answers},
          .promised = ballot_of(body.promised),
          .view = view_of(body.view),
          .accepted_in = ballot_of(body.accepted_in),
          .accepted = view_of(body.next),
          .since_main = body.since_main_ns >= MembershipBody::kNeverMain
                            ? membership::kNeverMain
                            : Nanos{body.since_main_ns}};
    case MembershipBody::Kind::beacon:
      return membership::Beacon{.number = Sequence{body.number},
                                .asked = Sequence{body.answers},
                                .ballot = ballot_of(body.ballot),
                                .main_for = body.main_for,
                                .urgent = body.urgent,
                                .view = view_of(body.view),
                                .proposes = body.next.lineage != 0,
                                .proposal = view_of(body.next)};
    case MembershipBody::Kind::release:
      return membership::Release{ballot_of(body.ballot)};
  }
  std::unreachable();
}

wire::Codec::Content content_of_locks(const Host::Locks::Message& message) {
  return std::visit(Overloaded{[](const Clients& of_clients) {
                                 return std::visit(
                                     [](const auto& body) { return wire::Codec::Content{body}; },
                                     of_clients.body);
                               },
                               [](const auto& body) { return wire::Codec::Content{body}; }},
                    message);
}

}  // namespace

wire::Codec::Content content_of(const Host::Message& message) {
  return std::visit(
      Overloaded{[](const Host::Locks::Message& of_locks) { return content_of_locks(of_locks); },
                 [](const Host::ViewMessage& of_views) {
                   return std::visit(
                       [](const auto& body) { return wire::Codec::Content{body_of(body)}; },
                       of_views.body);
                 },
                 [](const auto& body) { return wire::Codec::Content{body}; }},
      message);
}

std::optional<Host::Message> message_of(const wire::Codec& codec,
                                        const wire::Codec::Received& received) {
  using Answer = std::optional<Host::Message>;
  const auto of_locks = [](const auto& body) { return Answer(Host::Locks::Message{body}); };
  const auto of_clients = [&](const auto& body) {
    return of_locks(Clients{codec.directory().find(received.from)->incarnation, body});
  };
  return std::visit(
      Overloaded{[](const node::Node::Message& message) { return Answer(message); },
                 [](const wire::GroupBody& body) { return Answer(Host::Groups::Message{body}); },
                 [](const wire::DiagnosticBody&) { return Answer(); },
                 [](const wire::HelloBody&) { return Answer(); },
                 [](const wire::AnnouncementBody&) { return Answer(); },
                 [](const wire::MembershipBody& body) {
                   return Answer(Host::ViewMessage{message_of(body)});
                 },
                 [&](const wire::MutexBody& body) { return of_clients(body); },
                 [&](const wire::BeatBody& body) { return of_clients(body); },
                 [&](const auto& body) { return of_locks(body); }},
      received.content);
}

}  // namespace tempo::host
