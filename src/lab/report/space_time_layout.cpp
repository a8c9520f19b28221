#include "lab/report/space_time_layout.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tempo::report {
namespace {

constexpr double kBucket = 64;

int bucket_of(double y) { return static_cast<int>(std::floor(y / kBucket)); }

bool overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
bool inside(const Box& box, double x, double y) {
  return x > box.left && x < box.right && y > box.top && y < box.bottom;
}

// Clips the line's parameter range against each side of the box (Liang and Barsky 1984).
bool passes(const Box& box, const Line& line) {
  double enter = 0;
  double leave = 1;
  const auto cut = [&](double step, double distance) {
    if (step == 0) return distance >= 0;
    const double at = distance / step;
    if (step < 0)
      enter = std::max(enter, at);
    else
      leave = std::min(leave, at);
    return enter <= leave;
  };
  const double dx = line.x2 - line.x1;
  const double dy = line.y2 - line.y1;
  return cut(-dx, line.x1 - box.left) && cut(dx, box.right - line.x1) &&
         cut(-dy, line.y1 - box.top) && cut(dy, box.bottom - line.y1);
}

}  // namespace

TimeScale::TimeScale(std::vector<Instant> instants, Nanos typical, Nanos idle)
    : instants_(std::move(instants)) {
  CHECK(!instants_.empty() && typical > Nanos{0});
  std::ranges::sort(instants_);
  const auto repeated = std::ranges::unique(instants_);
  instants_.erase(repeated.begin(), repeated.end());

  double y = 0;
  heights_.push_back(y);
  after_break_.push_back(true);
  for (std::size_t i = 1; i < instants_.size(); ++i) {
    const Nanos gap = instants_[i] - instants_[i - 1];
    const bool shorten = gap > idle;
    if (shorten) breaks_.push_back({y, y + kBreakHeight, gap});
    const double typicals = static_cast<double>(gap.count()) / static_cast<double>(typical.count());
    const double step = kTypicalDrop * (typicals > 1 ? std::sqrt(typicals) : typicals);
    y += shorten ? kBreakHeight : std::max(kLeastStep, step);
    heights_.push_back(y);
    after_break_.push_back(shorten);
  }
}

double TimeScale::y(Instant at) const {
  const auto above = std::ranges::lower_bound(instants_, at);
  if (above == instants_.end()) return heights_.back();
  const auto i = static_cast<std::size_t>(above - instants_.begin());
  if (*above == at || i == 0) return heights_[i];
  const double share = static_cast<double>((at - instants_[i - 1]).count()) /
                       static_cast<double>((instants_[i] - instants_[i - 1]).count());
  return heights_[i - 1] + share * (heights_[i] - heights_[i - 1]);
}

void LabelLayout::draw(const Line& line) {
  const int last = bucket_of(std::max(line.y1, line.y2));
  for (int i = bucket_of(std::min(line.y1, line.y2)); i <= last; ++i)
    buckets_[i].lines.push_back(line);
}

void LabelLayout::take(const Box& box) {
  for (int i = bucket_of(box.top); i <= bucket_of(box.bottom); ++i)
    buckets_[i].boxes.push_back(box);
}

bool LabelLayout::is_free(const Box& box) const {
  for (int i = bucket_of(box.top); i <= bucket_of(box.bottom); ++i) {
    const auto bucket = buckets_.find(i);
    if (bucket == buckets_.end()) continue;
    for (const Box& other : bucket->second.boxes)
      if (overlap(box, other)) return false;
  }
  return true;
}

int LabelLayout::covered(const Box& box) const {
  int count = 0;
  for (int i = bucket_of(box.top); i <= bucket_of(box.bottom); ++i) {
    const auto bucket = buckets_.find(i);
    if (bucket == buckets_.end()) continue;
    for (const Line& line : bucket->second.lines) {
      if (!passes(box, line)) continue;
      count += inside(box, line.x2, line.y2) ? 3 : 1;
    }
  }
  return count;
}

}  // namespace tempo::report
