#include "daemon/drivers/utc_door.h"

#include <array>
#include <cmath>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "base/span_text.h"
#include "platform/clocks/stamps.h"

namespace tempo::daemon {

using clock::UtcSources;

Result<UtcDoor> UtcDoor::open(const std::vector<config::UtcSourceSettings>& sources,
                              std::optional<uid_t> owner) {
  std::vector<UtcSources::Source> rules;
  for (const config::UtcSourceSettings& source : sources)
    rules.push_back({.error = in_seconds(source.error), .priority = source.priority});
  UtcDoor door(std::move(rules));
  for (const config::UtcSourceSettings& source : sources) {
    auto socket = UnixDatagramSocket::open(source.path, owner);
    if (!socket)
      return std::unexpected(fmt::format("cannot open the source of UTC: {}", socket.error()));
    door.sources_.push_back({.settings = source, .socket = *std::move(socket)});
  }
  return door;
}

void UtcDoor::listen(sys::Loop& loop, sys::Oscillator& oscillator) {
  for (std::size_t i = 0; i < sources_.size(); ++i)
    loop.watch(sources_[i].socket.descriptor(), POLLIN,
               [this, i, &oscillator](short /*ready*/) { receive(i, oscillator); });
}

void UtcDoor::receive(std::size_t index, sys::Oscillator& oscillator) {
  std::array<std::byte, doors::kSockBytes> buffer{};
  for (int n = 0; n < kMaxAtOnce; ++n) {
    const auto size = sources_[index].socket.receive(buffer);
    if (!size) return;
    if (*size != buffer.size() || !add(index, buffer, oscillator)) ++dropped_;
  }
}

bool UtcDoor::add(std::size_t index, std::span<const std::byte> bytes,
                  sys::Oscillator& oscillator) {
  constexpr int kUnsynchronized = 3;
  const std::optional<doors::SockSample> sample = doors::decode(bytes);
  if (!sample || sample->pulse || sample->leap == kUnsynchronized) return false;
  const auto at = oscillator.from_realtime(sys::timespec_of(sample->at));
  if (!at) return false;
  agreement_.add(index, {.at = *at,
                         .utc = sample->at + Nanos{std::llround(sample->offset * 1e9)},
                         .leap = static_cast<UtcSources::Leap>(sample->leap)});
  return true;
}

std::string UtcDoor::outvoted_text(std::size_t index) const {
  const double off = agreement_.deviation(index);
  const std::string& path = sources_[index].settings.path;
  if (off == 0)
    return fmt::format(
        "the sources of UTC disagree, and none decides: {}; give one a higher priority", path);
  return fmt::format("the source of UTC {} is {}{} off the others; check what feeds it", path,
                     off < 0 ? "-" : "+", span_text(Nanos{std::llround(std::abs(off) * 1e9)}));
}

std::optional<UtcSources::Reading> UtcDoor::read(Instant now, EventLog& events) {
  const auto reading = agreement_.read(now);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const UtcSources::State state = agreement_.state(i);
    if (state == std::exchange(sources_[i].reported, state)) continue;
    const std::string& path = sources_[i].settings.path;
    if (state == UtcSources::State::used)
      events.emit("utc-found", fmt::format("the source of UTC {} is used", path));
    else if (state == UtcSources::State::silent)
      events.emit("utc-lost",
                  fmt::format("the source of UTC {} is silent; check what feeds it", path));
    else
      events.emit("utc-outvoted", outvoted_text(i));
  }
  return reading;
}

std::vector<std::string> UtcDoor::warnings() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < sources_.size(); ++i)
    if (agreement_.state(i) == UtcSources::State::outvoted) all.push_back(outvoted_text(i));
  return all;
}

}  // namespace tempo::daemon
