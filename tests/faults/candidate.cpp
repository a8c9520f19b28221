#include "candidate.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "platform/clocks/boot_clock.h"

namespace tempo::faults {
namespace {

constexpr std::uint32_t kCause = 3;             // random stream of candidates
constexpr Nanos kTimeout = 300ms;               // for a reply of the daemon
constexpr Nanos kPollInterval = 1ms;            // between two readings of the clock
constexpr std::uint64_t kCapacityRange = 1000;  // capacities are drawn below this
constexpr double kResignProbability = 0.5;      // for each term
constexpr std::array kAlgorithms{"b1", "a", "c"};

}  // namespace

Candidate::Candidate(const Workload::Options& options, std::uint32_t number,
                     std::uint32_t incarnation, HoldLog& log)
    : options_(&options),
      log_(&log),
      random_(options.seed, kCause, number * 1000 + incarnation),
      socket_(options.sockets[number % options.sockets.size()]) {}

void Candidate::run() {
  while (!log_->stop) {
    if (election_)
      step();
    else if (log_->full() || !stand())
      sleep_for(random_.uniform(kPollInterval, options_->lease / 10));
  }
  if (leads_) leave(std::min(sys::boot_clock(), deadline_));
}

bool Candidate::stand() {
  CandidateOptions options;
  options.capacity = static_cast<std::int64_t>(random_.below(kCapacityRange));
  options.algorithm = kAlgorithms[options_->seed % kAlgorithms.size()];
  options.min_stay = options_->lease / 2;
  auto election =
      Election::stand(fmt::format("seed{}", options_->seed), options, socket_, kTimeout);
  if (!election) return false;
  election_.emplace(*std::move(election));
  disconnected_ = false;
  next_offer_ = BootTime{};
  election_->on_lead([this](std::uint64_t term) { lead(term); });
  election_->on_stop([this] {
    if (leads_) leave(std::min(sys::boot_clock(), deadline_));
  });
  return true;
}

void Candidate::step() {
  const BootTime now = sys::boot_clock();
  if (leads_ && now >= deadline_) {
    ++log_->lost;
    leave(deadline_);
    return retire();
  }
  if (leads_) log_->update(now);
  if (leads_ && now >= resign_at_) {
    leave(now);
    return retire();
  }
  if (disconnected_ && !leads_) return retire();
  if (!disconnected_ && now >= next_offer_) {
    election_->set_capacity(static_cast<std::int64_t>(random_.below(kCapacityRange)));
    next_offer_ = now + random_.uniform(options_->lease / 4, 2 * options_->lease);
  }
  sleep_for(kPollInterval);
  if (disconnected_) return;
  disconnected_ = !election_->dispatch();
  if (disconnected_) ++log_->broken;
  // The deadline after an extension; the test above detects a lease that was not extended.
  if (leads_) deadline_ = BootTime{election_->deadline()};
}

void Candidate::lead(std::uint64_t term) {
  const BootTime now = sys::boot_clock();
  deadline_ = BootTime{election_->deadline()};
  if (now >= deadline_ || log_->full()) return;  // the notice arrived after the lease ended
  leads_ = true;
  resign_at_ = random_.chance(kResignProbability) ? now + random_.uniform(Nanos{0}, options_->lease)
                                                  : kNever;
  log_->enter(options_->locks, lock::Mode::exclusive, lock::Token{term}, now);
}

void Candidate::leave(BootTime at) {
  leads_ = false;
  log_->leave(at);
}

void Candidate::retire() {
  election_.reset();
  sleep_for(random_.uniform(Nanos{0}, options_->lease / 4));
}

}  // namespace tempo::faults
