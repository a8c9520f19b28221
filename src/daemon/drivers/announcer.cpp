#include "daemon/drivers/announcer.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "tempo_version.h"

namespace tempo::daemon {
namespace {

std::uint32_t whole(auto span) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(span, 0, 0xffffffff));
}

}  // namespace

std::uint32_t fingerprint(const election::Timing& timing) {
  const std::array<std::int64_t, 15> values{
      timing.adjtime.count(),      timing.loop.count(),       timing.election_min.count(),
      timing.election_max.count(), timing.startup.count(),    timing.no_master.count(),
      timing.candidate.count(),    timing.accept.count(),     timing.consistency.count(),
      timing.conflict.count(),     timing.retransmit.count(), timing.sends,
      timing.delay.count(),        timing.loops_per_election, timing.loops_per_startup};
  // FNV-1a, 32 bits.
  std::uint32_t hash = 2166136261U;
  for (const std::int64_t value : values)
    for (unsigned shift = 0; shift < 64; shift += 8) {
      hash ^= static_cast<std::uint32_t>((static_cast<std::uint64_t>(value) >> shift) & 255U);
      hash *= 16777619U;
    }
  return hash;
}

wire::AnnouncementBody announced_settings(const config::Settings& settings) {
  return {.profile = wire::Word(settings.profile),
          .timers = fingerprint(settings.timing),
          .expect = settings.lock_expect,
          .lease_ms = whole(settings.lock_lease / 1ms),
          .longest_lease_ms = whole(settings.longest_lease() / 1ms),
          .version = wire::Text<wire::kMaxVersionText>(kTempoVersion)};
}

Announcer::Announcer(const Parts& parts)
    : parts_(parts),
      machine_(announce::Announcements(parts.identity->host), RawClock{parts.oscillator},
               *parts.draw,
               {.carry_out =
                    [this](const Output<announce::Announcements>& output) {
                      if (output.kind == OutputKind::broadcast)
                        parts_.transport->broadcast(output.message.body);
                    },
                .write = [](std::uint64_t, const Nothing&) {}}) {}

Announcer::Sight Announcer::sight_of(HostId host) const {
  using announce::Announcements;
  const Instant now = parts_.oscillator->now();
  const wire::Directory::Host* const known = parts_.transport->codec().directory().find(host);
  if (known != nullptr && known->heard)
    return {.name = std::string(known->name.text()),
            .state = Announcements::state_of(now, machine().find(host), known->last_heard),
            .heard_ago = now - known->last_heard};
  const auto& mentioned = machine().mentioned();
  const auto found = mentioned.find(host);
  if (found == mentioned.end() || now >= found->second.expires) return {};
  return {.name = std::string(found->second.name.text()),
          .state = found->second.stopped ? announce::State::stopped : announce::State::silent,
          .heard_ago = now - found->second.heard};
}

void Announcer::describe(Instant started, const ClockState& clock) {
  wire::AnnouncementBody own = announced_settings(parts_.identity->settings);
  own.leads = clock.leads;
  own.uptime_s = whole((parts_.oscillator->now() - started) / 1s);
  own.status = wire::Word(clock.status);
  own.offset_ns = clock.offset.count();
  own.bound_ns = static_cast<std::uint64_t>(std::max(clock.bound, Nanos{0}).count());
  machine_.command(announce::Announcements::Describe{own});
}

void Announcer::receive(NodeId from, const wire::AnnouncementBody& body) {
  wire::Directory& directory = parts_.transport->codec().directory();
  const wire::Directory::Host* const sender = directory.find(from);
  if (sender == nullptr) return;
  machine_.receive(from, {.sender = sender->id,
                          .name = sender->name,
                          .incarnation = sender->incarnation,
                          .body = body});
  // A host that this one has not heard, a voter for example, gets the name that others know.
  wire::Directory::Host* const mentioned = directory.find(body.mentioned.host);
  if (mentioned != nullptr && !mentioned->heard && mentioned->name.text().empty() &&
      body.mentioned.host != parts_.identity->host)
    mentioned->name = body.mentioned.name;
}

}  // namespace tempo::daemon
