#include "client/fake_groups.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace tempo {

using std::chrono::nanoseconds;
using State = ipc::LeadershipUpdate::State;

// --- requests ---

std::string FakeGroups::answer(Client client, const ipc::Request& request) {
  const auto refuse = [&](std::string message) {
    return ipc::refusal_line(
        {.code = ipc::Code::unavailable, .message = std::move(message), .id = request.id});
  };
  Group* const own = find(client, request.id);
  switch (request.verb) {
    case ipc::Verb::elect:
      return stand(client, request);
    case ipc::Verb::offer:
      if (own != nullptr) own->capacity = request.capacity;
      return "";
    case ipc::Verb::stopped:
      if (own == nullptr || !own->leads || !own->elsewhere) return "";
      own->leads = false;
      own->until = nanoseconds{0};
      notify(*own, {.state = State::follows, .leader = *own->elsewhere});
      return "";
    case ipc::Verb::withdraw:
      if (own == nullptr) return refuse("this connection has no candidate with this id");
      notify(*own, {.state = State::withdrawn});
      own->client = nullptr;
      own->leads = false;
      own->until = nanoseconds{0};
      return "";
    case ipc::Verb::resign_group:
      if (!leads(request.name)) return refuse("this machine does not lead the group");
      elect_elsewhere(request.name, "");
      return ipc::done_line();
    case ipc::Verb::groups: {
      std::vector<ipc::GroupView> views;
      for (const auto& [name, group] : groups_) views.push_back(view_of(name, group));
      return ipc::groups_line(views);
    }
    case ipc::Verb::watch_group:
      watches_[client] = request.name;
      return ipc::group_line(view_of(request.name, groups_[request.name]));
    default:
      return refuse("a fake network does not support this request");
  }
}

std::string FakeGroups::stand(Client client, const ipc::Request& request) {
  Group& group = groups_[request.name];
  if (group.client != nullptr)
    return ipc::refusal_line(
        {.code = ipc::Code::unavailable,
         .message = fmt::format("this machine already has a candidate for '{}'; only one candidate "
                                "per machine is allowed",
                                request.name),
         .id = request.id});
  group.client = client;
  group.id = request.id;
  group.capacity = request.capacity;
  group.criterion = request.criterion;
  group.algorithm = request.algorithm;
  notify(group, {.state = State::stands});
  if (group.elsewhere) notify(group, {.state = State::follows, .leader = *group.elsewhere});
  decide(request.name, group);
  return "";
}

void FakeGroups::leave(Client client, End end) {
  watches_.erase(client);
  for (auto& [name, group] : groups_) {
    if (group.client != client) continue;
    group.client = nullptr;
    group.leads = false;
    if (end == End::of_the_client) group.until = nanoseconds{0};
    show(name);
  }
}

// --- time ---

void FakeGroups::extend_all(nanoseconds now) {
  for (auto& [name, group] : groups_) {
    if (!group.leads) continue;
    group.until = now + options_.lease;
    notify(group, {.state = State::extended, .until_ns = group.until.count()});
  }
}

void FakeGroups::expire() {
  for (auto& [name, group] : groups_) {
    if (group.until > options_.now()) continue;
    if (std::exchange(group.leads, false)) notify(group, {.state = State::lost});
    decide(name, group);
  }
}

// --- requests of the test ---

void FakeGroups::elect_here(const std::string& name) {
  Group& group = groups_[name];
  group.elsewhere.reset();
  if (!group.leads) decide(name, group);
}

void FakeGroups::elect_elsewhere(const std::string& name, const std::string& host) {
  Group& group = groups_[name];
  group.elsewhere = host;
  if (group.leads)
    notify(group, {.state = State::stop, .until_ns = group.until.count()});
  else
    notify(group, {.state = State::follows, .leader = host});
  show(name);
}

void FakeGroups::lose_majority(const std::string& name) {
  Group& group = groups_[name];
  group.elsewhere = "";
  group.until = nanoseconds{0};
  if (std::exchange(group.leads, false)) notify(group, {.state = State::lost});
  notify(group, {.state = State::no_majority});
  show(name);
}

void FakeGroups::finish_elsewhere(const std::string& name, const std::string& host) {
  Group& group = groups_[name];
  notify(group, {.state = State::job_done, .leader = host});
  group = {};
  show(name);
}

bool FakeGroups::leads(const std::string& name) const {
  const auto found = groups_.find(name);
  return found != groups_.end() && found->second.leads;
}

std::optional<std::int64_t> FakeGroups::capacity(const std::string& name) const {
  const auto found = groups_.find(name);
  if (found == groups_.end() || found->second.client == nullptr) return std::nullopt;
  return found->second.capacity;
}

// --- helpers ---

FakeGroups::Group* FakeGroups::find(Client client, std::int64_t id) {
  const auto found = std::ranges::find_if(groups_, [&](const auto& entry) {
    return entry.second.client == client && entry.second.id == id;
  });
  return found == groups_.end() ? nullptr : &found->second;
}

// The candidate of this host leads, unless another machine does or an earlier lease still lasts.
void FakeGroups::decide(const std::string& name, Group& group) {
  if (group.client == nullptr || group.leads || group.elsewhere || group.until > options_.now())
    return;
  group.leads = true;
  group.term = ++last_term_;
  group.until = options_.now() + options_.lease;
  notify(group, {.state = State::leads, .term = group.term, .until_ns = group.until.count()});
  show(name);
}

void FakeGroups::notify(const Group& group, ipc::LeadershipUpdate update) const {
  if (group.client == nullptr) return;
  update.id = group.id;
  options_.notify(group.client, update);
}

void FakeGroups::show(const std::string& name) const {
  const auto found = groups_.find(name);
  for (const auto& [client, watched] : watches_)
    if (watched == name) options_.show(client, view_of(name, found->second));
}

ipc::GroupView FakeGroups::view_of(const std::string& name, const Group& group) const {
  ipc::GroupView view{.name = name,
                      .leader = group.leads ? "fake" : group.elsewhere.value_or(""),
                      .term = group.leads ? group.term : 0,
                      .here = group.leads,
                      .criterion = group.criterion,
                      .algorithm = group.algorithm};
  if (group.client != nullptr)
    view.candidates.push_back({.host = "fake", .capacity = group.capacity, .here = true});
  return view;
}

}  // namespace tempo
