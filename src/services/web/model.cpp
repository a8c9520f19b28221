#include "services/web/model.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace tempo::web {
namespace {

// A reader gets all members at most once a second, and long lists of members or locks less often:
// this many bytes a second.
constexpr double kBytesPerSecond = 100e3;
constexpr Nanos kMinMembersInterval = 1s;

Nanos send_interval(std::size_t size) {
  return Nanos{static_cast<std::int64_t>(static_cast<double>(size) * 1e9 / kBytesPerSecond)};
}

Json event_json(const ipc::Event& event) {
  return Json::object()
      .add("name", event.name)
      .add("at_ns", std::to_string(event.at_ns))
      .add("text", event.text);
}

// The reply without the members of the protocol, as `--json` has it.
Json data_of(const ipc::Reply& reply) {
  Json data = Json::object();
  for (const std::string& key : reply.body.keys())
    if (key != "v" && key != "ok") data.add(key, *reply.body.at(key));
  return data;
}

std::string or_null(const std::string& json) { return json.empty() ? "null" : json; }

}  // namespace

void Model::changed(std::string_view event, std::string& kept, std::string now_is) {
  if (kept == now_is) return;
  kept = std::move(now_is);
  messages_.push(Messages::format(event, kept));
}

void Model::on_status(const Json& status, Instant now) {
  const std::string line = status.line();
  auto snapshot = obs::from_json(line);
  if (!snapshot) return;
  snapshot_ = *std::move(snapshot);
  status_ = line;
  seen_ = now;
  Json small = Json::object();
  Json members = Json::array();
  for (const std::string& key : status.keys()) {
    if (key == "members")
      members = *status.at(key);
    else if (key != "counters")
      small.add(key, *status.at(key));
  }
  messages_.push(Messages::format("status", small.line()));
  send_members(members, line.size(), now);
  record(*snapshot_);
}

void Model::send_members(const Json& members, std::size_t size, Instant now) {
  std::string key;
  for (const obs::MemberView& member : snapshot_->members)
    key += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", member.id, member.name, member.role,
                       member.state, member.status, member.faulty);
  if (key == members_key_ &&
      now - members_sent_ < std::max(kMinMembersInterval, send_interval(size)))
    return;
  members_key_ = std::move(key);
  members_sent_ = now;
  messages_.push(Messages::format("members", members.line()));
}

void Model::record(const obs::Snapshot& snapshot) {
  const double at = static_cast<double>(snapshot.time_ns) * 1e-9;
  std::set<std::string_view> present;
  for (const obs::MemberView& member : snapshot.members) {
    present.insert(member.id);
    if (!member.offset_us || !member.bound_us || (member.state != "up" && !member.self)) continue;
    if (series_.size() >= kMaxSeries && !series_.contains(member.id)) continue;
    series_[member.id].add(at, *member.offset_us, *member.bound_us);
  }
  std::erase_if(series_, [&](const auto& one) { return !present.contains(one.first); });
}

void Model::on_event(const ipc::Event& event) {
  events_.push_back(event);
  if (events_.size() > kMaxEvents) events_.pop_front();
  messages_.push(Messages::format("event", event_json(event).line()));
}

void Model::note_holder(std::map<std::string, std::string>& holders, const char* what,
                        const std::string& name, const std::string& holder,
                        const std::string& token) {
  std::string& known = holders[name];
  if (known == holder || holder.empty()) return;
  moves_.push_back({.at_ns = snapshot_ ? snapshot_->time_ns : 0,
                    .what = what,
                    .name = name,
                    .from = known,
                    .to = holder,
                    .token = token});
  if (moves_.size() > kMaxMoves) moves_.pop_front();
  known = holder;
  moves_unsent_ = std::min(moves_unsent_ + 1, moves_.size());
}

void Model::send_moves() {
  if (moves_unsent_ == 0) return;
  messages_.push(Messages::format("moves", moves_json(moves_unsent_)));
  moves_unsent_ = 0;
}

void Model::on_locks(const ipc::Reply& reply, Instant now) {
  auto view = ipc::locks_view_of(reply);
  if (!view) return;
  std::set<std::string> present;
  for (const ipc::LockView& lock : view->locks) {
    present.insert(lock.name);
    std::uint64_t token = 0;
    for (const ipc::LockView::Client& client : lock.clients) token = std::max(token, client.token);
    note_holder(lock_holders_, "lock", lock.name, lock.holder,
                token == 0 ? "" : fmt::format("{}", token));
  }
  std::erase_if(lock_holders_, [&](const auto& one) { return !present.contains(one.first); });
  locks_view_ = *std::move(view);
  send_moves();
  std::string line = data_of(reply).line();
  // Thousands of locks are sent seldom; the API always has the newest.
  if (locks_ != line) locks_unsent_ = true;
  locks_ = std::move(line);
  if (!locks_unsent_ || now - locks_sent_ < send_interval(locks_.size())) return;
  locks_unsent_ = false;
  locks_sent_ = now;
  messages_.push(Messages::format("locks", locks_));
}

void Model::on_groups(const ipc::Reply& reply) {
  std::set<std::string> present;
  const auto groups = reply.body.at("groups");
  for (const Json& group : groups ? groups->elements() : std::vector<Json>{}) {
    const std::string name = group.text_at("name").value_or("");
    present.insert(name);
    note_holder(group_leaders_, "group", name, group.text_at("leader").value_or(""),
                group.text_at("term").value_or(""));
  }
  std::erase_if(group_leaders_, [&](const auto& one) { return !present.contains(one.first); });
  send_moves();
  changed("groups", groups_, data_of(reply).line());
}

void Model::on_findings(const ipc::Reply& reply) {
  changed("findings", findings_, data_of(reply).line());
}

void Model::on_connection(bool connected, const std::string& error) {
  if (connected == connected_ && error == error_) return;
  connected_ = connected;
  error_ = error;
  messages_.push(Messages::format("tempod", connection_json()));
}

std::string Model::connection_json() const {
  return Json::object().add("connected", connected_).add("error", error_).line();
}

std::string Model::members() const { return snapshot_ ? obs::members_json(*snapshot_) : ""; }

std::string Model::events() const {
  Json list = Json::array();
  for (const ipc::Event& event : events_) list.push(event_json(event));
  return list.line();
}

std::string Model::moves_json(std::size_t count) const {
  Json list = Json::array();
  for (std::size_t i = moves_.size() - count; i < moves_.size(); ++i)
    list.push(Json::object()
                  .add("at_ns", std::to_string(moves_[i].at_ns))
                  .add("what", moves_[i].what)
                  .add("name", moves_[i].name)
                  .add("from", moves_[i].from)
                  .add("to", moves_[i].to)
                  .add("token", moves_[i].token));
  return list.line();
}

std::string Model::history(std::string_view id, double span_s) const {
  const auto found = series_.find(id);
  return found == series_.end() ? "" : found->second.json(span_s);
}

std::string Model::metrics(obs::MetricsFormat format) const {
  return snapshot_ ? obs::metrics_text(*snapshot_, locks_view_, format) : "";
}

Text Model::state() const {
  if (state_ == nullptr || state_at_ != messages_.next()) {
    state_ = Messages::format(
        "state", fmt::format(R"({{"tempod":{},"status":{},"locks":{},"groups":{},"findings":{},)"
                             R"("events":{},"moves":{}}})",
                             connection_json(), or_null(status_), or_null(locks_), or_null(groups_),
                             or_null(findings_), events(), moves_json(moves_.size())));
    state_at_ = messages_.next();
  }
  return state_;
}

}  // namespace tempo::web
