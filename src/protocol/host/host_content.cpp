#include "protocol/host/host_content.h"

#include <variant>

#include "machine/overloaded.h"

namespace tempo::host {
namespace {

using Clients = locks::BoundedDelayLocks::Message;

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
                 [](const wire::MembershipBody&) { return Answer(); },
                 [&](const wire::MutexBody& body) { return of_clients(body); },
                 [&](const wire::BeatBody& body) { return of_clients(body); },
                 [&](const auto& body) { return of_locks(body); }},
      received.content);
}

}  // namespace tempo::host
