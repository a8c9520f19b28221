#include "daemon/drivers/publisher.h"

#include <cmath>

namespace tempo::daemon {
namespace {

constexpr Nanos kAhead = 1s;
constexpr Nanos kFresh = 3s;  // three times the longest interval between publications
constexpr Nanos kLasts = 1h;  // 36 ms at node::kHeldWander: too wide for coordination
constexpr double kRounding =
    1e-9;  // rounding error of a rate that comes from readings in whole nanoseconds
constexpr Nanos kDoubtAfterSleep = 10s;

page::ClockLine line(WallTime now, WallTime in_a_second, double outwards) {
  const auto went = static_cast<double>((in_a_second - now - kAhead).count());
  return {.shows = now, .rate = went / static_cast<double>(kAhead.count()) + outwards};
}

}  // namespace

page::Status page_status(node::Reading::Status status) {
  switch (status) {
    case node::Reading::Status::unsynchronized:
      return page::Status::unsynchronized;
    case node::Reading::Status::holdover:
      return page::Status::holdover;
    case node::Reading::Status::synchronized:
      return page::Status::synchronized;
    case node::Reading::Status::leads:
      return page::Status::leads;
    case node::Reading::Status::minority:
      return page::Status::minority;
    case node::Reading::Status::alone:
      return page::Status::alone;
  }
  std::unreachable();
}

page::Content content_of(const page::Moment& moment, const node::Reading& now,
                         const node::Reading& in_a_second) {
  page::Content content{.raw = moment.raw,
                        .boot = moment.boot,
                        .real = moment.real,
                        .time = line(now.time, in_a_second.time, 0),
                        .earliest = {},
                        .latest = {},
                        .held_wander = node::kHeldWander,
                        .fresh = kFresh,
                        .lasts = kLasts,
                        .status = page_status(now.status)};
  if (content.status == page::Status::unsynchronized) return content;
  content.earliest = line(now.earliest, in_a_second.earliest, -kRounding);
  content.latest = line(now.latest, in_a_second.latest, kRounding);
  return content;
}

void Publisher::publish(sys::Oscillator& oscillator, const node::Sync& sync) {
  const page::Moment moment = page::read_moment_closely();
  const node::Reading now = sync.reading(oscillator.at(moment.raw));
  const node::Reading later = sync.reading(oscillator.at(moment.raw + kAhead));
  page::Content content = content_of(moment, now, later);
  content.generation = sync.timescale_generation();
  if (node::in_main_part(now.status) && sync.main_until() != kNever)
    content.main_until = moment.raw + (sync.main_until() - oscillator.at(moment.raw));
  if (slept(moment)) content.status = page::Status::unsynchronized;
  writer_.write(content);
  last_ = content;
}

// The clock of the node stood still during a suspension; its next exchanges show for how long.
bool Publisher::slept(const page::Moment& moment) {
  if (last_.raw != Instant{} && page::slept(last_, moment.raw, moment.boot))
    doubted_until_ = moment.raw + kDoubtAfterSleep;
  return moment.raw < doubted_until_;
}

void orphan_page(const std::string& socket) {
  const std::string path = page::path_for(socket);
  if (path.empty()) return;
  if (auto writer = page::Writer::open(path)) writer->orphan();
}

}  // namespace tempo::daemon
