#include "client/fake_locks.h"

#include <algorithm>

namespace tempo {

using std::chrono::nanoseconds;
using State = ipc::LockUpdate::State;

// --- requests ---

void FakeLocks::lock(Client client, const ipc::Request& request) {
  claims_[request.name].push_back({.client = client,
                                   .id = request.id,
                                   .shared = request.shared,
                                   .has_token = request.kind == ipc::LockKind::lease,
                                   .lease = nanoseconds{request.lease_ns}});
  grant(request.name);
}

void FakeLocks::unlock(Client client, std::int64_t id) {
  for (auto& [name, claims] : claims_)
    if (std::erase_if(claims, [&](const Claim& claim) {
          return claim.client == client && claim.id == id;
        }) > 0) {
      grant(name);
      break;
    }
  options_.notify(client, {.id = id, .state = State::released});
}

void FakeLocks::leave(Client client) {
  for (auto& [name, claims] : claims_) {
    std::erase_if(claims, [&](const Claim& claim) { return claim.client == client; });
    grant(name);
  }
}

void FakeLocks::outlive(Client client) {
  for (auto& [name, claims] : claims_) {
    std::erase_if(claims,
                  [&](const Claim& claim) { return claim.client == client && !claim.held; });
    for (Claim& claim : claims)
      if (claim.client == client) claim.client = nullptr;
    grant(name);
  }
}

// --- time ---

void FakeLocks::extend_all(nanoseconds now) {
  for (auto& [name, claims] : claims_)
    for (Claim& claim : claims) {
      if (!claim.held || claim.client == nullptr) continue;
      claim.until = now + lease_of(claim);
      options_.notify(claim.client,
                      {.id = claim.id, .state = State::extended, .until_ns = claim.until.count()});
    }
}

void FakeLocks::expire() {
  const nanoseconds now = options_.now();
  for (auto& [name, claims] : claims_) {
    const std::size_t expired = std::erase_if(claims, [&](const Claim& claim) {
      if (!claim.held || claim.elsewhere || claim.until > now) return false;
      end(claim);
      return true;
    });
    if (expired > 0) grant(name);
  }
}

// --- requests of the test ---

void FakeLocks::acquire_elsewhere(const std::string& name, bool shared) {
  claims_[name].push_back({.shared = shared, .elsewhere = true});
  grant(name);
}

void FakeLocks::release_elsewhere(const std::string& name) {
  std::erase_if(claims_[name], [](const Claim& claim) { return claim.elsewhere; });
  grant(name);
}

void FakeLocks::lose(const std::string& name) {
  std::erase_if(claims_[name], [&](const Claim& claim) {
    if (!claim.held || claim.client == nullptr) return false;
    end(claim);
    return true;
  });
  grant(name);
}

std::size_t FakeLocks::count(const std::string& name, bool held) const {
  const auto found = claims_.find(name);
  if (found == claims_.end()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(found->second, [&](const Claim& claim) {
    return claim.client != nullptr && claim.held == held;
  }));
}

// --- helpers ---

// Grants, in the order of the requests, every claim that no earlier one excludes.
void FakeLocks::grant(const std::string& name) {
  std::vector<Claim>& claims = claims_[name];
  bool all_shared = true;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Claim& claim = claims[i];
    all_shared &= claim.shared;
    if (i > 0 && !all_shared) return;
    if (claim.held) continue;
    claim.held = true;
    if (claim.has_token) claim.token = ++last_token_;
    claim.until = options_.now() + lease_of(claim);
    if (claim.client != nullptr)
      options_.notify(claim.client, {.id = claim.id,
                                     .state = State::granted,
                                     .token = claim.token,
                                     .until_ns = claim.until.count()});
  }
}

void FakeLocks::end(const Claim& claim) const {
  if (claim.client != nullptr)
    options_.notify(claim.client, {.id = claim.id, .state = State::lost});
}

nanoseconds FakeLocks::lease_of(const Claim& claim) const {
  return claim.lease == nanoseconds{0} ? options_.lease : claim.lease;
}

}  // namespace tempo
