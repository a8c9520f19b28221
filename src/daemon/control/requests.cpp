#include "daemon/control/requests.h"

#include <optional>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "daemon/control/replies.h"
#include "protocol/lock/lease/lease_message.h"

namespace tempo::daemon {
namespace {

std::string too_many_pending() {
  return ipc::refusal_line(
      {.code = ipc::Code::bad_request,
       .message = fmt::format("this connection already waits for {} answers; wait for them",
                              Connection::kMaxPending)});
}

std::string refusal_for(Privilege needed, const ipc::Request& request) {
  if (needed == Privilege::change)
    return ipc::refusal_line(
        {.code = ipc::Code::not_allowed,
         .message = fmt::format("permission denied: this requires root; run 'sudo tempo {}'",
                                request.verb == ipc::Verb::give_back ? "unlock"
                                : request.verb == ipc::Verb::nominate_voters
                                    ? "configure expect"
                                    : ipc::name_of(request.verb))});
  const bool has_id = !ipc::votes(request.verb) && request.verb != ipc::Verb::resign_group;
  return ipc::refusal_line(
      {.code = ipc::Code::not_allowed,
       .message =
           "permission denied: locks and groups require root or membership of tempod's group; "
           "add a user with 'usermod -aG tempo USER'",
       .id = has_id ? std::optional(request.id) : std::nullopt});
}

}  // namespace

Requests::Entry Requests::entry_of(ipc::Verb verb) {
  switch (verb) {
    case ipc::Verb::status:
      return {Privilege::read, &Requests::status};
    case ipc::Verb::members:
      return {Privilege::read, &Requests::members};
    case ipc::Verb::now:
      return {Privilege::read, &Requests::now};
    case ipc::Verb::watch:
    case ipc::Verb::events:
    case ipc::Verb::trace_follow:
      return {Privilege::read, &Requests::stream};
    case ipc::Verb::doctor:
      return {Privilege::read, &Requests::doctor};
    case ipc::Verb::keys:
      return {Privilege::read, &Requests::keys};
    case ipc::Verb::invite:
      return {Privilege::change, &Requests::invite};
    case ipc::Verb::nominate_voters:
      return {Privilege::change, &Requests::nominate_voters};
    case ipc::Verb::bootstrap_again:
      return {Privilege::change, &Requests::bootstrap_again};
    case ipc::Verb::reelect:
      return {Privilege::change, &Requests::reelect};
    case ipc::Verb::set_time:
      return {Privilege::change, &Requests::set_time};
    case ipc::Verb::trace:
      return {Privilege::change, &Requests::trace};
    case ipc::Verb::locks:
      return {Privilege::read, &Requests::list_locks};
    case ipc::Verb::lock:
      return {Privilege::lock, &Requests::lock};
    case ipc::Verb::resume:
      return {Privilege::lock, &Requests::resume};
    case ipc::Verb::unlock:
      return {Privilege::lock, &Requests::unlock};
    case ipc::Verb::forget:
    case ipc::Verb::admit:
      return {Privilege::lock, &Requests::change_voters};
    case ipc::Verb::give_back:
      return {Privilege::change, &Requests::give_back};
    case ipc::Verb::groups:
    case ipc::Verb::watch_group:
      return {Privilege::read, &Requests::group};
    case ipc::Verb::elect:
    case ipc::Verb::offer:
    case ipc::Verb::stopped:
    case ipc::Verb::withdraw:
      return {Privilege::elect, &Requests::group};
    case ipc::Verb::resign_group:
      return {Privilege::lock, &Requests::group};
    case ipc::Verb::count:
      break;
  }
  return {};
}

// The worker gives other members the lines that this object gives its clients.
Requests::Requests(Worker& worker)
    : worker_(&worker), locks_(worker), groups_(worker), streams_(worker) {
  worker.answer_members_with([this](ipc::Verb verb) {
    switch (verb) {
      case ipc::Verb::members:
        return ipc::members_line(obs::members_json(worker_->snapshot()));
      case ipc::Verb::locks:
        return locks_.list();
      case ipc::Verb::doctor:
        return ipc::findings_line(worker_->findings());
      case ipc::Verb::now:
        return now_line();
      default:
        return ipc::status_line(obs::to_json(worker_->snapshot()));
    }
  });
}

std::string Requests::answer(Connection& client, const std::string& line) {
  const auto request = ipc::parse_request(line);
  if (!request) return ipc::refusal_line(request.error());
  const Entry entry = entry_of(request->verb);
  if (!client.may(entry.privilege)) return refusal_for(entry.privilege, *request);
  if (entry.handler == nullptr)
    return ipc::refusal_line({.code = ipc::Code::unknown_verb, .message = "unknown verb"});
  // tempod was stopped or busy, and the client did not wait for it.
  if (client.hung_up && ipc::orders(request->verb)) return "";
  if (client.pending() >= Connection::kMaxPending) return too_many_pending();
  if (ipc::asks_others(request->verb) && !request->host.empty()) return ask_other(client, *request);
  return (this->*entry.handler)(client, *request);
}

void Requests::disconnect(Connection& client) {
  client.withdraw_pending();
  streams_.end(client);
  locks_.disconnect(client);
  groups_.disconnect(client);
}

// --- handlers ---

std::string Requests::status(Connection& /*client*/, const ipc::Request& /*request*/) {
  return ipc::status_line(obs::to_json(worker_->snapshot()));
}

std::string Requests::members(Connection& /*client*/, const ipc::Request& /*request*/) {
  return ipc::members_line(obs::members_json(worker_->snapshot()));
}

// Another member answers.
std::string Requests::ask_other(Connection& client, const ipc::Request& request) {
  const auto refused = [](const std::string& message) {
    return ipc::refusal_line({.code = ipc::Code::unavailable, .message = message});
  };
  const auto asked = worker_->ask_member(request.host, request.verb);
  if (!asked) return refused(asked.error());
  client.defer(
      [this, refused, host = request.host, question = *asked]() -> std::optional<std::string> {
        const auto line = worker_->member_answer(question);
        if (!line) return std::nullopt;
        if (!*line) return refused(fmt::format("{}: {}", host, line->error()));
        return ipc::parse_reply(**line) ? **line : refused(fmt::format("{}: invalid answer", host));
      },
      [this, question = *asked] { worker_->withdraw_question(question); });
  return "";
}

std::string Requests::now(Connection& /*client*/, const ipc::Request& /*request*/) {
  return now_line();
}

std::string Requests::now_line() {
  const node::Reading reading = worker_->reading();
  return ipc::now_line({.time_ns = reading.time.time_since_epoch().count(),
                        .earliest_ns = reading.earliest.time_since_epoch().count(),
                        .latest_ns = reading.latest.time_since_epoch().count(),
                        .status = std::string(node::name_of(reading.status)),
                        .generation = worker_->timescale_generation()});
}

std::string Requests::stream(Connection& client, const ipc::Request& request) {
  streams_.begin(client, request.verb);
  return ipc::done_line();
}

std::string Requests::reelect(Connection& client, const ipc::Request& /*request*/) {
  using ReelectResult = ReelectDriver::ReelectResult;
  const auto line = [](const ReelectResult& result) {
    return result ? ipc::reelected_line(*result) : ipc::refusal_line(result.error());
  };
  const auto asked = worker_->reelections().reelect();
  if (const auto* result = std::get_if<ReelectResult>(&asked)) return line(*result);
  const std::uint32_t number = std::get<std::uint32_t>(asked);
  client.defer(
      [this, line, number]() -> std::optional<std::string> {
        const auto result = worker_->reelections().result(number);
        return result ? std::optional(line(*result)) : std::nullopt;
      },
      [this, number] { worker_->reelections().withdraw(number); });
  return "";
}

std::string Requests::set_time(Connection& /*client*/, const ipc::Request& request) {
  const Nanos by = request.by_ns ? Nanos{*request.by_ns}
                                 : WallTime{Nanos{*request.to_ns}} - worker_->reading().time;
  return done_line(worker_->set_time(by));
}

std::string Requests::trace(Connection& /*client*/, const ipc::Request& request) {
  worker_->trace().keep(worker_->now(), request.on);
  return ipc::done_line();
}

std::string Requests::doctor(Connection& client, const ipc::Request& request) {
  if (!request.all) return ipc::findings_line(worker_->findings());
  worker_->ask_members();
  client.defer(
      [this]() -> std::optional<std::string> {
        if (!worker_->members_answered()) return std::nullopt;
        return ipc::findings_line(worker_->findings(), worker_->member_findings());
      },
      [] {});
  return "";
}

// A follower hears other followers seldom: their answers say which keys they have now.
std::string Requests::keys(Connection& client, const ipc::Request& /*request*/) {
  worker_->ask_keys();
  client.defer(
      [this]() -> std::optional<std::string> {
        if (!worker_->members_answered()) return std::nullopt;
        return ipc::status_line(obs::to_json(worker_->snapshot()));
      },
      [] {});
  return "";
}

std::string Requests::bootstrap_again(Connection& /*client*/, const ipc::Request& request) {
  return done_line(
      worker_->begin_locks_again(lock::lease::Held::of(lock::Token{request.above}).count));
}

std::string Requests::invite(Connection& /*client*/, const ipc::Request& /*request*/) {
  const auto invited = worker_->invite();
  return invited ? ipc::invited_line(*invited)
                 : ipc::refusal_line({.code = ipc::Code::unavailable, .message = invited.error()});
}

}  // namespace tempo::daemon
