#include "api/page_content.h"

namespace tempo::page {
namespace {

constexpr double kMaxRate = 0.5;
constexpr Nanos kFarthest = 24h * 365 * 250;  // from 1970; farthest value of a line

bool sane(const ClockLine& line) {
  const Nanos shows = line.shows.time_since_epoch();
  return line.rate >= -kMaxRate && line.rate <= kMaxRate && shows >= -kFarthest &&
         shows <= kFarthest;
}

}  // namespace

bool sane(const Content& content) {
  return sane(content.time) && sane(content.earliest) && sane(content.latest) &&
         content.raw.time_since_epoch() >= 0ns && content.boot >= 0ns && content.held_wander >= 0 &&
         content.held_wander <= kMaxRate && content.fresh >= 0ns &&
         content.fresh <= content.lasts && content.lasts <= kLongest &&
         content.status <= kLastStatus && content.main_until.time_since_epoch() >= 0ns;
}

Reading read(const Content& content, const Moment& moment) {
  if (!sane(content) || moment.raw.time_since_epoch() < 0ns || moment.boot < 0ns) return {};
  const Reading reading = carry(content, moment.raw);
  if (slept(content, moment.raw, moment.boot))
    return {.time = reading.time, .generation = reading.generation};
  return reading;
}

Content orphaned(Content content) {
  content.fresh = 0ns;
  return content;
}

}  // namespace tempo::page
