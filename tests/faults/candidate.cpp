#include "candidate.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "platform/clocks/boot_clock.h"

namespace tempo::faults {
namespace {

constexpr std::uint32_t kCause = 3;
constexpr Nanos kPatience = 300ms;  // with a daemon that does not answer
constexpr Nanos kNap = 1ms;         // between two looks at the clock
constexpr std::uint64_t kCapacities = 1000;
constexpr double kResigns = 0.5;  // of its terms
constexpr std::array kAlgorithms{"b1", "a", "c"};

}  // namespace

Candidate::Candidate(const Workload::Options& order, std::uint32_t number, std::uint32_t life,
                     Notes& notes)
    : order_(&order),
      notes_(&notes),
      chance_(order.seed, kCause, number * 1000 + life),
      socket_(order.sockets[number % order.sockets.size()]) {}

void Candidate::run() {
  while (!notes_->over) {
    if (election_)
      step();
    else if (notes_->full() || !stand())
      rest(chance_.uniform(kNap, order_->lease / 10));
  }
  if (leads_) leave(std::min(sys::boot_clock(), until_));
}

bool Candidate::stand() {
  CandidateOptions options;
  options.capacity = static_cast<std::int64_t>(chance_.below(kCapacities));
  options.algorithm = kAlgorithms[order_->seed % kAlgorithms.size()];
  options.min_stay = order_->lease / 2;
  auto election = Election::stand(fmt::format("seed{}", order_->seed), options, socket_, kPatience);
  if (!election) return false;
  election_.emplace(*std::move(election));
  gone_ = false;
  next_offer_ = Instant{};
  election_->on_lead([this](std::uint64_t term) { lead(term); });
  election_->on_stop([this] {
    if (leads_) leave(std::min(sys::boot_clock(), until_));
  });
  return true;
}

void Candidate::step() {
  const Instant now = sys::boot_clock();
  if (leads_ && now >= until_) {
    ++notes_->lost;
    leave(until_);
    return retire();
  }
  if (leads_) notes_->see(now);
  if (leads_ && now >= resign_at_) {
    leave(now);
    return retire();
  }
  if (gone_ && !leads_) return retire();
  if (!gone_ && now >= next_offer_) {
    election_->set_capacity(static_cast<std::int64_t>(chance_.below(kCapacities)));
    next_offer_ = now + chance_.uniform(order_->lease / 4, 2 * order_->lease);
  }
  rest(kNap);
  if (gone_) return;
  gone_ = !election_->dispatch();
  if (gone_) ++notes_->broken;
  // What was extended in time was; what was not is seen by the clock test above.
  if (leads_) until_ = Instant{election_->deadline()};
}

void Candidate::lead(std::uint64_t term) {
  const Instant now = sys::boot_clock();
  until_ = Instant{election_->deadline()};
  if (now >= until_ || notes_->full()) return;  // told too late
  leads_ = true;
  resign_at_ = chance_.chance(kResigns) ? now + chance_.uniform(Nanos{0}, order_->lease) : kNever;
  notes_->enter(order_->locks, lock::Mode::exclusive, lock::Token{term}, now);
}

void Candidate::leave(Instant at) {
  leads_ = false;
  notes_->leave(at);
}

void Candidate::retire() {
  election_.reset();
  rest(chance_.uniform(Nanos{0}, order_->lease / 4));
}

}  // namespace tempo::faults
