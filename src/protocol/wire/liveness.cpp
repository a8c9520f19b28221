#include "protocol/wire/liveness.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "protocol/wire/bytes.h"
#include "protocol/wire/wire_mutation.h"

namespace tempo::wire {
namespace {

// A challenge: bit 63 is set, 47 bits of hash, then the number of its time span.
constexpr int kSpanBits = 16;
constexpr std::uint64_t kSpans = std::uint64_t{1} << kSpanBits;
constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

}  // namespace

Liveness::Liveness(const auth::Key& secret, Nanos exchange_interval)
    : secret_(secret), period_(std::max(kLeastPeriod, kExchangesPerPeriod * exchange_interval)) {}

bool Liveness::live(Instant now, Instant proved) const {
  return now - proved < period_ || mutated(Mutation::live_without_end);
}

// A period has two spans: a response to this span or the one before is at most a period old.
std::uint64_t Liveness::span_of(Instant now) const {
  const std::int64_t span = now.time_since_epoch() / (period_ / 2);
  return static_cast<std::uint64_t>(span) + kSpans;
}

std::uint64_t Liveness::hash(const Question& question) const {
  const std::uint64_t place =
      (std::to_underlying(question.process.host) * 2 + question.span % 2) % kHashes;
  Hash& known = hashes_[place];
  if (known.value == 0 || known.of != question)
    known = {.of = question, .value = computed(question)};
  return known.value;
}

std::uint64_t Liveness::computed(const Question& question) const {
  const auto& [process, span, changes] = question;
  if (mutated(Mutation::one_challenge_for_all)) return kTop | 1 << kSpanBits | span % kSpans;
  std::array<std::byte, 32> text;
  Writer out(text);
  out.put(std::to_underlying(process.host));
  out.put(std::to_underlying(process.nonce));
  out.put(span);
  out.put(std::to_underlying(process.incarnation));
  out.put(changes);
  const std::string_view bytes(reinterpret_cast<const char*>(text.data()), text.size());
  const std::uint64_t hash = auth::keyed_hash(secret_, "challenge", bytes);
  return kTop | (hash & ~(kSpans - 1)) | span % kSpans;
}

std::uint64_t Liveness::challenge(Instant now, const Process& process,
                                  std::uint32_t changes) const {
  return hash({.process = process, .span = span_of(now), .changes = changes});
}

Liveness::Response Liveness::judge(Instant now, const Process& process, std::uint32_t changes,
                                   std::uint64_t response) const {
  if (response == 0) return Response::none;
  const std::uint64_t span = span_of(now);
  const std::uint64_t age = (span - response) % kSpans;
  if (hash({.process = process, .span = span - age, .changes = changes}) != response &&
      !mutated(Mutation::any_response))
    return Response::foreign;
  return age < 2 || mutated(Mutation::old_response) ? Response::current : Response::old;
}

// --- questions ---

bool Liveness::Budget::spend(Instant now) {
  if (now >= until) {
    until = now + 1s;
    used = 0;
  }
  if (used >= kMaxHellos) return false;
  ++used;
  return true;
}

bool Liveness::ask(Instant now, const Process& process, std::uint8_t network) {
  purge(now);
  const Key key{process, network};
  const auto found = asked_.find(key);
  if (found != asked_.end() && found->second.open && now - found->second.at < kAskInterval)
    return false;
  if (found == asked_.end() && asked_.size() >= kMaxAsked) return false;
  if (!questions_.spend(now)) return false;
  Asked& asked = asked_[key];
  asked.at = now;
  asked.open = true;
  return true;
}

bool Liveness::take_answer(Instant now, const Process& process, std::uint8_t network) {
  const auto found = asked_.find({process, network});
  if (mutated(Mutation::unasked_answer)) return true;
  if (found == asked_.end()) return false;
  if (now - found->second.at >= kHeldFor && !mutated(Mutation::late_answer)) return false;
  return std::exchange(found->second.open, false) || mutated(Mutation::answer_again);
}

// A question without an answer is forgotten after kHeldFor, with its datagrams.
void Liveness::purge(Instant now) {
  if (now < next_purge_) return;
  next_purge_ = now + kHeldFor;
  for (auto entry = asked_.begin(); entry != asked_.end();) {
    const auto next = std::next(entry);
    if (now - entry->second.at >= kHeldFor) forget(entry);
    entry = next;
  }
}

void Liveness::forget(std::map<Key, Asked>::iterator entry) {
  held_ -= entry->second.held.size();
  asked_.erase(entry);
}

void Liveness::hold(const Process& process, const Held& held) {
  const auto found = asked_.find({process, held.network});
  if (found == asked_.end() || held_ >= kMaxHeld || found->second.held.size() >= kMaxHeldOfOne)
    return;
  found->second.held.push_back(held);
  ++held_;
}

std::vector<Liveness::Held> Liveness::release(Instant now, const Process& process,
                                              std::uint8_t network) {
  const auto found = asked_.find({process, network});
  if (found == asked_.end()) return {};
  std::vector<Held> all = found->second.held;
  forget(found);
  if (!mutated(Mutation::held_too_long))
    std::erase_if(all, [now](const Held& held) { return now - held.since >= kHeldFor; });
  return all;
}

}  // namespace tempo::wire
