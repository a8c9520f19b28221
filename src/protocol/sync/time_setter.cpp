#include "protocol/sync/time_setter.h"

#include <utility>

#include "protocol/sync/sync.h"

namespace tempo::node {
namespace {

constexpr std::uint32_t kSends = 10;
constexpr Nanos kPause = 200ms;

}  // namespace

void TimeSetter::ask(SyncStep& step, NodeId master, Nanos by) {
  request_.by = by;
  ++request_.number;
  sends_left_ = kSends;
  repeat(step, master);
}

void TimeSetter::repeat(SyncStep& step, NodeId master) {
  if (sends_left_ == 0 || master == kNobody) return;
  --sends_left_;
  request_.timescale_generation = generation_;
  step.turn.out.send(master, request_);
  if (sends_left_ > 0) step.timers.set(SyncTimer::set_time, step.now() + kPause);
}

bool TimeSetter::accepts(NodeId from, const SetTime& request) {
  return request.timescale_generation == announced() &&
         std::exchange(done_[from], request.number) != request.number;
}

bool TimeSetter::adopt(SyncStep& step, std::uint32_t announced) {
  if (announced <= generation_) return false;
  generation_ = announced;
  sends_left_ = 0;
  step.timers.stop(SyncTimer::set_time);
  return true;
}

}  // namespace tempo::node
