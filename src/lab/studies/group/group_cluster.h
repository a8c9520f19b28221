// One simulated run of a group: the network, the hosts, their users, and the checks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/random.h"
#include "lab/studies/group/group_run.h"
#include "lab/studies/lock/lease_agenda.h"
#include "protocol/group/service.h"
#include "protocol/lock/lock_service.h"
#include "protocol/wire/directory.h"

namespace tempo::sim::groups {

namespace live = tempo::groups;

class Cluster {
 public:
  explicit Cluster(const Setup& setup);
  Outcome run();

 private:
  using Body = std::variant<wire::LockBody, wire::GroupBody>;
  static constexpr std::uint32_t kAll = 0xffff;

  class Host;
  struct User {
    std::uint32_t term_count = 0;  // counts beginnings and ends of its terms as leader
    bool stands = false;
    bool acts = false;
    bool stops = false;   // was asked to stop
    bool orphan = false;  // the daemon that made it leader is dead
    Instant deadline{};   // on its host's clock
    live::Capacity capacity = 0;
  };
  struct Event {
    enum class Kind : std::uint8_t {
      arrive,
      written,
      lock_update,
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
    Kind kind = Kind::arrive;
    std::uint32_t host = 0;
    std::uint32_t incarnation = 0;  // of the daemon; deadline: term_count of the user
    std::uint32_t from = 0;
    std::shared_ptr<const Body> body{};
    std::optional<locks::Saved> saved{};
    live::GroupService::LeaseUpdate lease{};
  };

  Instant local(std::uint32_t host, Instant at) const;
  Instant local(std::uint32_t host) const;  // now
  live::NetworkClock clock(std::uint32_t host) const;
  Instant due(std::uint32_t host) const;
  void run_until(Instant limit);
  void happen(const Event& event);
  void fault(const Event& event);
  void on_timer(std::uint32_t number);
  void send(std::uint32_t from, std::uint32_t to, const Body& body);
  void plan(Event::Kind kind, double per_second);
  Nanos up_to(Nanos most);
  live::Capacity new_capacity();

  void start(std::uint32_t host);
  void crash(std::uint32_t host);
  void stand(std::uint32_t host);
  void begin_term(std::uint32_t host, const live::LeadershipUpdate& update);
  void end_term(std::uint32_t host);
  void on_update(std::uint32_t host, const live::LeadershipUpdate& update);
  void plan_clock_test(std::uint32_t host);
  void judge_hand_over(std::uint32_t host);
  void judge_the_end();

  Setup setup_;
  wire::Directory directory_;
  lock::lease::Rules lock_rules_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<User> users_;
  std::vector<std::optional<locks::Saved>> disks_;
  std::vector<std::uint32_t> incarnations_;
  std::vector<bool> paused_;
  std::vector<std::vector<Event>> held_back_;
  std::vector<std::int64_t> rates_;  // clock rates, in ppb
  std::vector<Nanos> errors_;        // errors of network time
  std::vector<bool> side_;           // side of each host in a partition
  bool partitioned_ = false;
  bool faulty_ = true;
  lease::Agenda<Event> agenda_;
  Stream stream_;
  StreamDraw draw_;
  Instant now_{Nanos{1'000'000'000'000}};
  lock::Token last_token_ = lock::kNoToken;
  std::uint32_t last_leader_ = kAll;
  Instant term_began_{};
  Instant term_ended_{};
  bool replaced_ = false;  // the last term ended because another candidate was better
  Outcome outcome_;
};

}  // namespace tempo::sim::groups
