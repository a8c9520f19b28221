#include "lab/studies/lock/ledger.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tempo::sim::lock {

using tempo::lock::Mode;
using tempo::lock::Token;

void Tally::add(const Tally& other) {
  entries += other.entries;
  violations += other.violations;
  token_disorder += other.token_disorder;
  deadlocks += other.deadlocks;
  messages += other.messages;
  refusals += other.refusals;
  waits.add(other.waits);
  entries_of.resize(std::max(entries_of.size(), other.entries_of.size()));
  for (std::size_t i = 0; i < other.entries_of.size(); ++i) entries_of[i] += other.entries_of[i];
}

double Tally::fairness() const {
  if (entries_of.empty()) return 0;
  const auto [fewest, most] = std::ranges::minmax(entries_of);
  return fewest == 0 ? 0 : static_cast<double>(most) / static_cast<double>(fewest);
}

Ledger::Ledger(std::uint32_t sites, std::vector<NodeId> site_of) : clients_(site_of.size()) {
  tally_.entries_of.resize(sites);
  for (std::size_t i = 0; i < site_of.size(); ++i) {
    CHECK(index(site_of[i]) < sites);
    clients_[i].site = site_of[i];
  }
}

void Ledger::asked(std::uint32_t client, Instant at) {
  Client& asking = clients_[client];
  CHECK(!asking.waits && !asking.inside);
  asking.waits = true;
  asking.since = at;
}

void Ledger::gave_up(std::uint32_t client) { clients_[client].waits = false; }

void Ledger::entered(std::uint32_t client, Mode mode, Token token, Instant at) {
  Client& entering = clients_[client];
  CHECK(entering.waits);
  const bool alone = excluded(client, mode);
  const bool ordered = token == tempo::lock::kNoToken || in_order(mode, token);
  if (!alone) ++tally_.violations;
  if (!ordered) ++tally_.token_disorder;
  if (!alone || !ordered) first_broken_ = std::min(first_broken_, at);
  ++tally_.entries;
  ++tally_.entries_of[index(entering.site)];
  tally_.waits.add(at - entering.since);
  highest_ = std::max(highest_, token);
  if (mode == Mode::exclusive) highest_exclusive_ = std::max(highest_exclusive_, token);
  entering.waits = false;
  entering.inside = true;
  entering.mode = mode;
}

void Ledger::left(std::uint32_t client) { clients_[client].inside = false; }

std::uint32_t Ledger::waiting() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(clients_, &Client::waits));
}

bool Ledger::excluded(std::uint32_t client, Mode mode) const {
  for (std::uint32_t i = 0; i < clients_.size(); ++i)
    if (i != client && clients_[i].inside && conflict(mode, clients_[i].mode)) return false;
  return true;
}

bool Ledger::in_order(Mode mode, Token token) const {
  return token > (mode == Mode::exclusive ? highest_ : highest_exclusive_);
}

}  // namespace tempo::sim::lock
