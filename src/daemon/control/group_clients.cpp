#include "daemon/control/group_clients.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "daemon/control/replies.h"
#include "platform/clocks/boot_clock.h"

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
      if (request.verb == ipc::Verb::offer)
        worker_->groups().command(GroupService::Offer{claim->first, request.capacity});
      else
        worker_->groups().command(GroupService::Stopped{claim->first});
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
  const groups::UserId user{++last_user_};
  claims_[user] = {.client = &client, .id = request.id, .keeps_lease = request.keeps_lease};
  const auto stood =
      worker_->groups().request(GroupService::Stand{.user = user,
                                                    .group = request.name,
                                                    .terms = {*criterion, *algorithm},
                                                    .capacity = request.capacity,
                                                    .min_stay = Nanos{request.min_stay_ns},
                                                    .once = request.once});
  if (!stood) {
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
  for (auto claim = claims_.begin(); claim != claims_.end();) {
    const auto current = claim++;
    if (current->second.client != &client) continue;
    if (current->second.keeps_lease)
      lost_[current->first] = current->second.until;
    else
      gone.push_back(current->first);
    claims_.erase(current);
  }
  for (const groups::UserId user : gone) worker_->groups().command(GroupService::Withdraw{user});
}

void GroupClients::withdraw_lost() {
  const BootTime now = sys::boot_clock();
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
  if (update.deadline > found->second.until) found->second.until = update.deadline;
  const Claim claim = found->second;
  using Kind = groups::LeadershipUpdate::Kind;
  using NewState = ipc::LeadershipUpdate::State;
  ipc::LeadershipUpdate message{.id = claim.id,
                                .term = std::to_underlying(update.term),
                                .until_ns = update.deadline.time_since_epoch().count(),
                                .leader = worker_->name_of(update.host)};
  switch (update.kind) {
    case Kind::leads:
      message.state = NewState::leads;
      break;
    case Kind::extended:
      message.state = NewState::extended;
      break;
    case Kind::stop:
      message.state = NewState::stop;
      break;
    case Kind::lost:
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
      claims_.erase(found);
      break;
  }
  claim.client->write(ipc::election_line(message));
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
