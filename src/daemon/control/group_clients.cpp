#include "daemon/control/group_clients.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "daemon/control/replies.h"
#include "daemon/control/sessions.h"
#include "platform/clocks/boot_clock.h"
#include "platform/host.h"

namespace tempo::daemon {

using groups::GroupService;

namespace {

template <class Names>
std::string list_of(const Names& names) {
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

}  // namespace

GroupClients::GroupClients(Worker& worker) : worker_(&worker) {
  worker_->groups().on_update([this](const groups::LeadershipUpdate& update) { notify(update); });
  worker_->groups().on_change([this](const std::string& group) { notify_change(group); });
}

GroupClients::~GroupClients() {
  worker_->groups().on_update({});
  worker_->groups().on_change({});
  for (const auto& [user, claim] : claims_)
    if (claim.client == nullptr) worker_->loop().forget(claim.watched->descriptor());
}

std::string GroupClients::answer(Connection& client, const ipc::Request& request) {
  switch (request.verb) {
    case ipc::Verb::elect:
      return elect(client, request);
    case ipc::Verb::offer:
    case ipc::Verb::stopped: {
      const auto claim = find(client, request.id);
      if (claim == claims_.end())
        return refuse(request, ipc::Code::bad_request,
                      "this connection has no candidate with that id");
      if (request.verb == ipc::Verb::offer) {
        worker_->groups().command(GroupService::Offer{claim->first, request.capacity});
      } else {
        claim->second.end_lead();
        worker_->groups().command(GroupService::Stopped{claim->first});
      }
      return "";
    }
    case ipc::Verb::withdraw:
      return withdraw(client, request);
    case ipc::Verb::resign_group: {
      const auto done = worker_->groups().request(GroupService::Resign{request.name});
      return done ? ipc::done_line()
                  : ipc::refusal_line({.code = ipc::Code::not_master, .message = done.error()});
    }
    case ipc::Verb::groups: {
      std::vector<ipc::GroupView> views;
      for (const groups::Known& known : worker_->groups().known()) views.push_back(view_of(known));
      return ipc::groups_line(views);
    }
    case ipc::Verb::watch_group:
      if (const auto wrong = groups::wrong_with_name(request.name))
        return ipc::refusal_line(
            {.code = ipc::Code::bad_request, .message = groups::sentence_of({.reason = *wrong})});
      watches_[&client] = request.name;
      return ipc::group_line(view_of(request.name));
    default:
      return ipc::refusal_line({.code = ipc::Code::unknown_verb, .message = "unknown verb"});
  }
}

std::string GroupClients::elect(Connection& client, const ipc::Request& request) {
  const auto criterion = groups::criterion_of(request.criterion);
  if (!criterion)
    return refuse(request, ipc::Code::bad_request,
                  fmt::format("unknown criterion '{}'; use one of {}", request.criterion,
                              list_of(groups::kCriterionNames)));
  const auto algorithm = groups::algorithm_of(request.algorithm);
  if (!algorithm)
    return refuse(request, ipc::Code::bad_request,
                  fmt::format("unknown algorithm '{}'; use one of {}", request.algorithm,
                              list_of(groups::kAlgorithmNames)));
  if (const auto wrong = groups::wrong_with_name(request.name))
    return refuse(request, ipc::Code::bad_request, groups::sentence_of({.reason = *wrong}));
  if (find(client, request.id) != claims_.end())
    return refuse(request, ipc::Code::bad_request,
                  "this connection already has a candidate with that id; use another id");
  const auto mine = std::ranges::count_if(
      claims_, [&](const auto& entry) { return entry.second.client == &client; });
  if (static_cast<std::size_t>(mine) >= kMaxElections)
    return refuse(
        request, ipc::Code::unavailable,
        "too many candidates on this connection; withdraw some or open another connection");
  GroupService::Stand stand{.group = request.name,
                            .terms = {*criterion, *algorithm},
                            .capacity = request.capacity,
                            .min_stay = Nanos{request.min_stay_ns},
                            .once = request.once};
  if (request.token != 0) return resume(client, request, std::move(stand));
  Claim claim{.client = &client,
              .id = request.id,
              .group = request.name,
              .keeps_lease = request.keeps_lease};
  if (request.resumable && !request.keeps_lease && worker_->locks().resumes())
    claim.watched = ClientProcess::find(client.process());
  if (claim.watched)
    claim.session = {.number = sys::kernel_random() | 1, .process = claim.watched->identity()};
  return this->stand(client, request, stand, std::move(claim));
}

std::string GroupClients::stand(Connection& client, const ipc::Request& request,
                                const GroupService::Stand& stand, Claim claim) {
  const groups::UserId user{++last_user_};
  GroupService::Stand numbered = stand;
  numbered.user = user;
  numbered.session = claim.session;
  claims_[user] = std::move(claim);
  if (const auto stood = worker_->groups().request(numbered); !stood) {
    claims_.erase(user);
    return refuse(request, ipc::Code::unavailable, stood.error());
  }
  client.write(ipc::election_line({.id = request.id}));
  if (const auto known = worker_->groups().known(request.name); known && known->leader != kNoHost)
    notify({.user = user,
            .kind = groups::LeadershipUpdate::Kind::follows,
            .term = known->term,
            .host = known->leader});
  return "";
}

// The client led on another connection: to this tempod, or to an earlier one.
std::string GroupClients::resume(Connection& client, const ipc::Request& request,
                                 GroupService::Stand stand) {
  const auto session = session_of(request.session);
  if (!session)
    return refuse(request, ipc::Code::bad_request,
                  R"("session" must be the text of the lead, unchanged)");
  auto process = ClientProcess::find(client.process());
  if (!process)
    return refuse(request, ipc::Code::unavailable,
                  "tempod cannot observe the process of this connection; try again");
  const lock::lease::Session shown{.number = session->number, .process = process->identity()};
  const auto found = std::ranges::find_if(
      claims_, [&](const auto& entry) { return entry.second.session == shown; });
  if (found != claims_.end()) {
    Claim& claim = found->second;
    if (claim.client == nullptr) worker_->loop().forget(claim.watched->descriptor());
    claim.client = &client;
    claim.id = request.id;
    client.write(ipc::election_line({.id = request.id}));
    if (claim.term == groups::kNoToken) return "";
    client.write(ipc::election_line(leads(claim)));
    if (!claim.stops) return "";
    ipc::LeadershipUpdate stop = leads(claim);
    stop.state = ipc::LeadershipUpdate::State::stop;
    stop.session.clear();
    return ipc::election_line(stop);
  }
  // Without voters it would end at once: the client asks again.
  if (!worker_->locks().configured())
    return refuse(request, ipc::Code::unavailable, worker_->locks().status());
  const BootTime until{Nanos{request.until_ns}};
  stand.lead = groups::Lead{
      .term = groups::Token{request.token}, .origin = session->origin, .deadline = until};
  return this->stand(client, request, stand,
                     {.client = &client,
                      .id = request.id,
                      .group = request.name,
                      .session = shown,
                      .watched = std::move(process),
                      .told_until = until});
}

ipc::LeadershipUpdate GroupClients::leads(const Claim& claim) {
  ipc::LeadershipUpdate message{.id = claim.id,
                                .state = ipc::LeadershipUpdate::State::leads,
                                .term = std::to_underlying(claim.term),
                                .until_ns = claim.until.time_since_epoch().count()};
  if (claim.session.number != 0)
    message.session = session_text({claim.session.number, claim.origin});
  return message;
}

std::string GroupClients::withdraw(Connection& client, const ipc::Request& request) {
  const auto claim = find(client, request.id);
  if (claim == claims_.end())
    return refuse(request, ipc::Code::bad_request, "this connection has no candidate with that id");
  const groups::UserId user = claim->first;
  claims_.erase(claim);
  worker_->groups().command(GroupService::Withdraw{user, request.once});
  return ipc::election_line({.id = request.id, .state = ipc::LeadershipUpdate::State::withdrawn});
}

void GroupClients::disconnect(Connection& client) {
  watches_.erase(&client);
  std::vector<groups::UserId> gone;
  for (auto& [user, claim] : claims_) {
    if (claim.client != &client) continue;
    const bool may_act = claim.term != groups::kNoToken || claim.told_until != BootTime{};
    if (claim.keeps_lease || claim.session.number == 0 || !may_act || !claim.watched->runs()) {
      gone.push_back(user);
      continue;
    }
    claim.client = nullptr;
    claim.told_until = std::max(claim.told_until, claim.until);
    worker_->loop().watch(claim.watched->descriptor(), POLLIN,
                          [this, user = user](short) { withdraw_user(user); });
  }
  for (const groups::UserId user : gone) {
    const auto found = claims_.find(user);
    if (!found->second.keeps_lease) {
      withdraw_user(user);
      continue;
    }
    lost_[user] = found->second.until;
    claims_.erase(found);
  }
}

void GroupClients::withdraw_user(groups::UserId user) {
  const auto found = claims_.find(user);
  if (found == claims_.end()) return;
  if (found->second.client == nullptr) worker_->loop().forget(found->second.watched->descriptor());
  claims_.erase(found);
  worker_->groups().command(GroupService::Withdraw{user});
}

void GroupClients::withdraw_lost() {
  const BootTime now = sys::boot_clock();
  std::vector<groups::UserId> late;
  for (const auto& [user, claim] : claims_)
    if (claim.client == nullptr && std::max(claim.told_until, claim.until) <= now)
      late.push_back(user);
  for (const groups::UserId user : late) withdraw_user(user);
  for (auto lost = lost_.begin(); lost != lost_.end();) {
    const auto current = lost++;
    if (current->second > now) continue;
    const groups::UserId user = current->first;
    lost_.erase(current);
    worker_->groups().command(GroupService::Withdraw{user});
  }
}

void GroupClients::notify(const groups::LeadershipUpdate& update) {
  const auto found = claims_.find(update.user);
  if (found == claims_.end()) return;
  Claim& claim = found->second;
  Connection* const client = claim.client;
  using Kind = groups::LeadershipUpdate::Kind;
  using NewState = ipc::LeadershipUpdate::State;
  ipc::LeadershipUpdate message{.id = claim.id,
                                .term = std::to_underlying(update.term),
                                .until_ns = update.deadline.time_since_epoch().count(),
                                .leader = worker_->name_of(update.host)};
  switch (update.kind) {
    case Kind::leads:
      claim.term = update.term;
      claim.origin = update.origin;
      claim.until = std::max(claim.until, update.deadline);
      message = leads(claim);
      break;
    case Kind::extended:
      claim.until = std::max(claim.until, update.deadline);
      message.state = NewState::extended;
      break;
    case Kind::stop:
      claim.stops = true;
      message.state = NewState::stop;
      break;
    case Kind::lost:
      claim.end_lead();
      message.state = NewState::lost;
      break;
    case Kind::follows:
      message.state = NewState::follows;
      break;
    case Kind::no_majority:
      message.state = NewState::no_majority;
      break;
    case Kind::job_done:
      message.state = NewState::job_done;
      break;
  }
  if (client != nullptr) client->write(ipc::election_line(message));
  if (update.kind != Kind::job_done) return;
  if (client == nullptr) worker_->loop().forget(claim.watched->descriptor());
  claims_.erase(found);
}

void GroupClients::notify_change(const std::string& group) {
  for (const auto& [client, watched] : watches_)
    if (watched == group) client->write(ipc::group_line(view_of(group)));
}

ipc::GroupView GroupClients::view_of(const groups::Known& known) const {
  ipc::GroupView view{.name = known.name,
                      .leader = worker_->name_of(known.leader),
                      .term = std::to_underlying(known.term),
                      .here = known.here,
                      .criterion = std::string(groups::name_of(known.terms.criterion)),
                      .algorithm = std::string(groups::name_of(known.terms.algorithm)),
                      .held = std::string(known.held ? groups::name_of(*known.held) : ""),
                      .state = std::string(known.state)};
  if (known.stands)
    view.candidates.push_back(
        {.host = worker_->name_of(worker_->self()), .capacity = known.capacity, .here = true});
  for (const auto& one : known.candidates)
    view.candidates.push_back({.host = worker_->name_of(one.host), .capacity = one.capacity});
  return view;
}

ipc::GroupView GroupClients::view_of(const std::string& group) const {
  const auto known = worker_->groups().known(group);
  return known ? view_of(*known) : ipc::GroupView{.name = group};
}

std::map<groups::UserId, GroupClients::Claim>::iterator GroupClients::find(const Connection& client,
                                                                           std::int64_t id) {
  return std::ranges::find_if(claims_, [&](const auto& entry) {
    return entry.second.client == &client && entry.second.id == id;
  });
}

}  // namespace tempo::daemon
