#include "lab/studies/daemon/attacker.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "lab/sim/link.h"

namespace tempo::sim::daemon {
namespace {

constexpr std::uint32_t kStream = 23;  // index of the attacker's stream under Cause::plan

}  // namespace

Attacker::Attacker(std::uint64_t seed) : stream_(seed, std::to_underlying(Cause::plan), kStream) {}

void Attacker::record(NodeId from, NodeId to, const WiredHost::Bytes& bytes) {
  if (recorded_.size() < kMaxRecorded) recorded_.push_back({from, to, bytes});
}

void Attacker::begin(NodeId target, std::size_t rounds) {
  target_ = target;
  attacks_ = true;
  everywhere_ = stream_.chance(0.5);
  order_ = static_cast<Order>(stream_.below(std::to_underlying(Order::count)));
  sequence_.resize(recorded_.size());
  std::iota(sequence_.begin(), sequence_.end(), 0);
  if (order_ == Order::newest && sequence_.size() > kNewest)
    sequence_.erase(sequence_.begin(), sequence_.end() - kNewest);
  if (order_ == Order::reversed) std::ranges::reverse(sequence_);
  if (order_ == Order::shuffled)
    for (std::size_t i = sequence_.size(); i > 1; --i)
      std::swap(sequence_[i - 1], sequence_[stream_.below(i)]);
  each_ = std::min(sequence_.size() / rounds + 1, kMaxInRound);
  place_ = due_ = 0;
}

void Attacker::target_sent() {
  if (attacks_ && order_ == Order::answers) due_ = std::min(due_ + kAnswers, kMaxInRound);
}

std::vector<Attacker::Datagram> Attacker::next() {
  std::vector<Datagram> round;
  if (sequence_.empty()) return round;
  std::size_t count = order_ == Order::answers ? std::exchange(due_, 0) : each_;
  for (; count > 0; --count) {
    if (place_ == sequence_.size()) {
      if (order_ != Order::newest) break;
      place_ = 0;
    }
    Datagram datagram = recorded_[sequence_[place_++]];
    if (!everywhere_) datagram.to = target_;
    round.push_back(std::move(datagram));
  }
  replayed_ += round.size();
  return round;
}

}  // namespace tempo::sim::daemon
