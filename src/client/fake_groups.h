// The groups of a fake network (fake.h): one candidate of this host in each, and whoever leads
// elsewhere because the test says so.
//
// Without a word from the test the candidate here leads as soon as it stands. It knows no sockets
// and no threads: callers are told through a function, times are the network's.
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
  using Caller = const void*;
  struct Options {
    std::chrono::nanoseconds lease{0};
    std::function<std::chrono::nanoseconds()> now;
    std::function<void(Caller, const ipc::LeadershipUpdate&)> notify;
    std::function<void(Caller, const ipc::GroupView&)> show;  // to those who watch a group
  };
  explicit FakeGroups(Options options) : options_(std::move(options)) {}

  // The line for a request about groups; empty: what is to be said is told.
  std::string answer(Caller caller, const ipc::Request& request);
  // Its candidates are gone. At the daemon's own end what they have lasts until its deadline.
  enum class End : std::uint8_t { of_the_caller, of_the_daemon };
  void leave(Caller caller, End end);

  void extend_all(std::chrono::nanoseconds now);
  void let_go_of_old();

  void elect_here(const std::string& name);
  void elect_elsewhere(const std::string& name, const std::string& host);
  void lose_majority(const std::string& name);
  void finish_elsewhere(const std::string& name, const std::string& host);
  bool leads(const std::string& name) const;
  std::optional<std::int64_t> capacity(const std::string& name) const;

 private:
  struct Group {
    Caller caller = nullptr;  // null: nobody here stands
    std::int64_t id = 0;
    std::int64_t capacity = 0;
    std::string criterion{};
    std::string algorithm{};
    bool acts = false;                       // the candidate here has the lease
    std::uint64_t term = 0;                  // of the last that led
    std::chrono::nanoseconds until{0};       // the lease is had by nobody else before
    std::optional<std::string> elsewhere{};  // who leads; empty: nobody is to
  };

  std::string stand(Caller caller, const ipc::Request& request);
  Group* of(Caller caller, std::int64_t id);
  void decide(const std::string& name, Group& group);
  void notify(const Group& group, ipc::LeadershipUpdate news) const;
  void show(const std::string& name) const;
  ipc::GroupView view_of(const std::string& name, const Group& group) const;

  Options options_;
  std::map<std::string, Group> groups_;  // as many as the test names
  std::map<Caller, std::string> watches_;
  std::uint64_t last_term_ = 0;
};

}  // namespace tempo
