// The groups of a fake network (fake.h): at most one candidate of this host in each, and the
// leaders on other machines that the test makes up.
//
// Unless the test decides otherwise, the candidate leads as soon as it stands. It uses no sockets
// and no threads: updates go out through a function, and times are those of the network's clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "api/control_protocol.h"
#include "api/group_requests.h"

namespace tempo {

class FakeGroups {
 public:
  using Client = const void*;
  struct Options {
    std::chrono::nanoseconds lease{0};
    std::function<std::chrono::nanoseconds()> now;
    std::function<void(Client, const ipc::LeadershipUpdate&)> notify;
    std::function<void(Client, const ipc::GroupView&)> show;  // to clients that watch a group
  };
  explicit FakeGroups(Options options) : options_(std::move(options)) {}

  // Returns the reply to a request about groups; empty: the reply went out as an update.
  std::string answer(Client client, const ipc::Request& request);
  // Removes the candidates of a client that disconnected. When the daemon ends, their leases last
  // until their deadlines.
  enum class End : std::uint8_t { of_the_client, of_the_daemon };
  void leave(Client client, End end);

  void extend_all(std::chrono::nanoseconds now);
  void expire();  // ends expired leases

  void elect_here(const std::string& name);
  void elect_elsewhere(const std::string& name, const std::string& host);
  void lose_majority(const std::string& name);
  void finish_elsewhere(const std::string& name, const std::string& host);
  bool leads(const std::string& name) const;
  std::optional<std::int64_t> capacity(const std::string& name) const;

 private:
  struct Group {
    Client client = nullptr;  // null: this host has no candidate
    std::int64_t id = 0;
    std::int64_t capacity = 0;
    std::string criterion{};
    std::string algorithm{};
    bool leads = false;                      // the candidate of this host holds the lease
    std::uint64_t term = 0;                  // of the last leader on this host
    std::chrono::nanoseconds until{0};       // end of the lease; no new leader before
    std::optional<std::string> elsewhere{};  // leader on another machine; empty name: none may lead
  };

  std::string stand(Client client, const ipc::Request& request);
  Group* find(Client client, std::int64_t id);
  void decide(const std::string& name, Group& group);
  void notify(const Group& group, ipc::LeadershipUpdate update) const;
  void show(const std::string& name) const;
  ipc::GroupView view_of(const std::string& name, const Group& group) const;

  Options options_;
  std::map<std::string, Group> groups_;    // by name; the test bounds their number
  std::map<Client, std::string> watches_;  // client and its group
  std::uint64_t last_term_ = 0;
};

}  // namespace tempo
