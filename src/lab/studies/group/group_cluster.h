// One simulated run of a group: hosts with leases and groups, their users, faults and the checks.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/random.h"
#include "lab/sim/world.h"
#include "lab/studies/group/group_run.h"
#include "machine/compose.h"
#include "protocol/group/service.h"
#include "protocol/lock/lease_service.h"
#include "protocol/wire/directory.h"

namespace tempo::sim::groups {

namespace live = tempo::groups;

// The leases and the groups of one host. Its clock has a constant rate, and network time is true
// time with a constant error.
class GroupHost {
 public:
  using Leases = locks::LeaseService;
  using Groups = live::GroupService;
  using Message = std::variant<Leases::Message, Groups::Message>;
  using Time = BootTime;
  using Command = std::variant<Groups::Command, Leases::Command>;
  using Notice = Groups::Notice;
  using Record = Leases::Record;
  using Parts = PartList<Leases, Groups>;
  static Command persisted(const Record& record) { return Leases::persisted(record); }

  struct Clock {
    Ppb rate{};      // of the local clock
    Nanos error{0};  // of network time
    bool trusted = false;
  };
  GroupHost(Leases leases, Groups groups, const Clock& clock)
      : leases_(std::move(leases)), groups_(std::move(groups)), clock_(clock) {}

  void start(Turn<GroupHost>& turn);
  void receive(Turn<GroupHost>& turn, NodeId from, const Message& message);
  void on_timer(Turn<GroupHost>& turn, TimerId timer);
  void command(Turn<GroupHost>& turn, const Command& command);

  auto timers() const { return JoinedTimers(leases_.timers(), groups_.timers()); }
  const char* check() const;
  const Groups& groups() const { return groups_; }

 private:
  template <class Step>
  void step_leases(Turn<GroupHost>& turn, Step step);
  template <class Step>
  void step_groups(Turn<GroupHost>& turn, Step step);
  void on_notice(Turn<GroupHost>& turn, const Groups::Notice& notice);
  WallTime network(BootTime local) const;

  Leases leases_;
  Groups groups_;
  Clock clock_;
};

class Cluster : public NoWatch {
 public:
  struct Event {
    enum class Kind : std::uint8_t {
      stand,
      stopped,
      deadline,
      crash,
      restart,
      pause,
      resume,
      partition,
      heal,
      resign,
      flap,
    };
    Kind kind = Kind::stand;
    std::uint32_t host = 0;
    std::uint32_t number = 0;  // deadline: term_count of the user; stopped: start of the daemon
  };

  explicit Cluster(const Setup& setup);
  Outcome run();

  // --- called by the World ---
  template <class W>
  void noticed(const W& /*world*/, NodeId host, const GroupHost::Notice& notice) {
    on_notice(index(host), notice);
  }
  template <class W>
  void stepped(const W& world, NodeId host) {
    if (outcome_.broken == nullptr) outcome_.broken = world.machine(host).check();
  }
  void happen(const Event& event);

 private:
  struct User {
    std::uint32_t term_count = 0;  // counts beginnings and ends of its terms as leader
    bool stands = false;
    bool acts = false;
    bool stops = false;   // was asked to stop
    bool orphan = false;  // the daemon that made it leader is dead
    BootTime deadline{};  // on its host's clock
    live::Capacity capacity = 0;
  };

  GroupHost make(NodeId host, Incarnation incarnation);
  void command(std::uint32_t host, const GroupHost::Groups::Command& command);
  void fault(const Event& event);
  void plan(Event::Kind kind, double per_second);
  void plan_in(Nanos after, const Event& event) { world_.plan(world_.now() + after, event); }
  Nanos up_to(Nanos most);
  live::Capacity new_capacity();

  void start(std::uint32_t host);
  void crash(std::uint32_t host);
  void resume(std::uint32_t host);
  void stand(std::uint32_t host);
  void on_notice(std::uint32_t host, const GroupHost::Notice& notice);
  void on_update(std::uint32_t host, const live::LeadershipUpdate& update);
  void begin_term(std::uint32_t host, const live::LeadershipUpdate& update);
  void end_term(std::uint32_t host);
  void plan_clock_test(std::uint32_t host);
  void judge_hand_over(std::uint32_t host);
  void judge_the_end();

  Setup setup_;
  wire::Directory directory_;  // gives host i the number i
  lock::lease::Rules lock_rules_;
  std::vector<User> users_;
  std::vector<GroupHost::Clock> clocks_;
  std::vector<std::vector<GroupHost::Groups::Command>> inbox_;  // for paused daemons
  bool faulty_ = true;
  Stream stream_;
  lock::Token last_token_ = lock::kNoToken;
  std::optional<std::uint32_t> last_leader_{};
  Instant term_began_{};
  Instant term_ended_{};
  bool replaced_ = false;  // the last term ended because another candidate was better
  Outcome outcome_;
  World<GroupHost, Cluster> world_;
};

}  // namespace tempo::sim::groups
