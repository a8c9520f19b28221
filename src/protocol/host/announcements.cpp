#include "protocol/host/announcements.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "machine/overloaded.h"

namespace tempo::announce {
namespace {

Nanos stated_interval(const wire::AnnouncementBody& body) {
  return std::clamp<Nanos>(std::chrono::milliseconds{body.interval_ms}, Announcements::kInterval,
                           Announcements::kMaxInterval);
}

std::uint32_t whole_seconds(Nanos span) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(span / 1s, 0, 0xffffffff));
}

}  // namespace

std::string_view name_of(State state) {
  constexpr std::array<std::string_view, 4> kNames{"up", "silent", "stopped", "gone"};
  return kNames.at(std::to_underlying(state));
}

State Announcements::state_of(Instant now, const Member* member, Instant heard) {
  const bool stopped = member != nullptr && member->says.stops && member->heard >= heard;
  if (now - heard > kGoneAfter) return State::gone;
  if (stopped) return State::stopped;
  const Nanos interval = member != nullptr ? stated_interval(member->says) : kInterval;
  return now - heard > kMissed * interval + kSlack ? State::silent : State::up;
}

void Announcements::start(Turn<Announcements>& turn) {
  started_ = turn.now;
  next_ = turn.now + turn.draw.between(Nanos{0}, kSoon);
}

std::optional<Instant> Announcements::misses_us(Instant now, const Member& member) {
  const bool heard = state_of(now, &member, member.heard) == State::up;
  return heard && now - member.misses_at <= kMissesFor ? member.misses_since : std::nullopt;
}

void Announcements::command(Turn<Announcements>& turn, const Command& command) {
  std::visit(Overloaded{[&](const Describe& describe) { own_ = describe.own; },
                        [&](const Stop&) {
                          if (stopped_) return;
                          announce(turn, true);
                          stopped_ = true;
                          next_ = kNever;
                        }},
             command);
}

void Announcements::on_timer(Turn<Announcements>& turn, TimerId /*timer*/) {
  if (turn.now < next_ || stopped_) return;
  announce(turn, false);
  const Nanos span = interval();
  next_ = turn.now + turn.draw.between(span * 9 / 10, span);
}

// --- sending ---

Nanos Announcements::interval() const {
  return std::clamp<Nanos>(kPerMember * static_cast<int>(members_.size()), kInterval, kMaxInterval);
}

void Announcements::announce(Turn<Announcements>& turn, bool stops) {
  const Instant now = turn.now;
  forget(now);
  up_ = static_cast<std::uint32_t>(std::ranges::count_if(members_, [now](const auto& entry) {
    return state_of(now, &entry.second, entry.second.heard) == State::up;
  }));
  wire::AnnouncementBody body = own_;
  body.stops = stops;
  body.interval_ms = static_cast<std::uint32_t>(interval() / 1ms);
  body.up_members = up_;
  body.mentioned = next_mention(now);
  turn.out.broadcast({.body = body});
  sent_ = now;
}

// Every second mention is of a silent member, if there is one: the others need these names most.
wire::MentionedHost Announcements::next_mention(Instant now) {
  const auto after = [&](HostId last, bool silent_only) -> const Member* {
    const auto suits = [&](const auto& entry) {
      const State state = state_of(now, &entry.second, entry.second.heard);
      return state != State::gone && (!silent_only || state != State::up);
    };
    const auto first = members_.upper_bound(last);
    auto found = std::find_if(first, members_.end(), suits);
    if (found == members_.end()) {
      found = std::find_if(members_.begin(), first, suits);
      if (found == first) return nullptr;
    }
    return &found->second;
  };
  mention_silent_ = !mention_silent_;
  const Member* member = mention_silent_ ? after(last_silent_mention_, true) : nullptr;
  if (member != nullptr) {
    last_silent_mention_ = member->host;
  } else {
    member = after(last_mention_, false);
    if (member == nullptr) return {};
    last_mention_ = member->host;
  }
  return {.host = member->host,
          .name = member->name,
          .silent_s = whole_seconds(now - member->heard),
          .stopped = member->says.stops};
}

// --- receiving ---

void Announcements::receive(Turn<Announcements>& turn, NodeId /*from*/, const Message& message) {
  const Instant now = turn.now;
  if (message.sender == self_ || message.sender == kNoHost) return;
  const auto known = members_.find(message.sender);
  const bool fresh = known == members_.end() || known->second.incarnation != message.incarnation ||
                     state_of(now, &known->second, known->second.heard) != State::up;
  if (known == members_.end() && members_.size() >= kMaxMembers)
    members_.erase(std::ranges::min_element(members_, {},
                                            [](const auto& entry) { return entry.second.heard; }));
  mentioned_.erase(message.sender);
  Member& member = members_[message.sender];
  if (member.incarnation != message.incarnation) member.misses_since.reset();
  member.host = message.sender;
  if (!message.name.text().empty()) member.name = message.name;
  member.incarnation = message.incarnation;
  member.says = message.body;
  member.heard = now;
  member.since = now - std::chrono::seconds{message.body.uptime_s};
  const wire::MentionedHost& mentioned = message.body.mentioned;
  if (mentioned.host == self_) {
    // It may have heard only an earlier process of this host.
    const Instant since = std::max(now - std::chrono::seconds{mentioned.silent_s}, started_);
    member.misses_since.reset();
    if (now - since > kMissed * interval() + kSlack) member.misses_since = since;
    member.misses_at = now;
  } else {
    note_mentioned(now, mentioned);
  }
  // A new process learns soon what this host says.
  if (fresh && !message.body.stops && !stopped_ && next_ != kNever)
    next_ = std::min(next_, std::max(sent_ + kSoon, now + turn.draw.between(Nanos{0}, kSoon)));
}

void Announcements::note_mentioned(Instant now, const wire::MentionedHost& mentioned) {
  if (mentioned.host == kNoHost || mentioned.name.text().empty() ||
      members_.contains(mentioned.host))
    return;
  const Nanos silent = std::chrono::seconds{mentioned.silent_s};
  if (silent > kGoneAfter) return;
  if (!mentioned_.contains(mentioned.host) && mentioned_.size() >= kMaxMentioned) {
    forget(now);
    if (mentioned_.size() >= kMaxMentioned) return;
  }
  const auto [at, added] = mentioned_.try_emplace(mentioned.host);
  Mentioned& entry = at->second;
  if (!added && entry.heard > now - silent) return;
  entry = {.host = mentioned.host,
           .name = mentioned.name,
           .stopped = mentioned.stopped,
           .heard = now - silent,
           .expires = now - silent + kGoneAfter};
}

// Mentions expire, so that an invented host does not stay.
void Announcements::forget(Instant now) {
  std::erase_if(mentioned_, [now](const auto& entry) { return now >= entry.second.expires; });
}

const Announcements::Member* Announcements::find(HostId host) const {
  const auto found = members_.find(host);
  return found == members_.end() ? nullptr : &found->second;
}

const char* Announcements::check() const {
  if (members_.size() > kMaxMembers) return "too many members";
  if (mentioned_.size() > kMaxMentioned) return "too many mentioned hosts";
  if (members_.contains(self_) || mentioned_.contains(self_)) return "this host is its own member";
  for (const auto& [host, entry] : mentioned_)
    if (members_.contains(host)) return "a member is also a mentioned host";
  if (stopped_ && next_ != kNever) return "announces after it has stopped";
  return nullptr;
}

}  // namespace tempo::announce
