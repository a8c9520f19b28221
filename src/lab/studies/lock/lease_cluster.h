// One simulated story of lease locks: the world, the clients around it, and their judge.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lab/sim/world.h"
#include "lab/studies/lock/lease_agenda.h"
#include "lab/studies/lock/lease_run.h"
#include "lab/studies/lock/ledger.h"
#include "protocol/lock/lease/lease_member.h"

namespace tempo::sim::lease {

class Cluster : public NoWatch {
 public:
  using Member = tempo::lock::lease::Member;
  using Command = tempo::lock::lease::Command;
  using Notice = tempo::lock::lease::Notice;
  using Record = tempo::lock::lease::Record;

  explicit Cluster(const Setup& setup);
  Outcome run();

  // --- what the world calls ---
  template <class World>
  void sent(const World& /*world*/, NodeId /*from*/, NodeId to,
            const tempo::lock::lease::Message& message, std::uint32_t /*number*/) {
    ++outcome_.said[std::to_underlying(message.kind)];
    messages_ += to == kNobody ? setup_.sites - 1 : 1;
  }
  template <class World>
  void noticed(const World& /*world*/, NodeId site, const Notice& notice) {
    receive(site, notice);
  }
  template <class World>
  void stepped(const World& world, NodeId site) {
    if (outcome_.broken == nullptr) outcome_.broken = world.machine(site).check();
  }

 private:
  struct Client {
    enum class State : std::uint8_t { idle, waits, inside };
    NodeId site{};
    std::uint32_t lock = 0;
    std::uint32_t number = 0;  // in its lock's ledger
    State state = State::idle;
    std::uint32_t request = 0;  // how many so far
    tempo::lock::Mode mode = tempo::lock::Mode::exclusive;
    Instant deadline{};   // by its site's clock
    bool orphan = false;  // inside, and the daemon that let it in is dead
  };
  struct What {
    enum class Kind : std::uint8_t {
      ask,
      quit,
      leave,
      deadline,
      written,
      crash,
      blackout,
      restart,
      pause,
      resume,
      partition,
      heal,
      change,
      step,
      time,
    };
    Kind kind = Kind::ask;
    std::uint32_t who = 0;      // customer or site
    std::uint32_t request = 0;  // or life
    Record record{};
  };

  // Clients.
  void ask(std::uint32_t who);
  void quit(std::uint32_t who);
  void leave(std::uint32_t who);
  void test_clock(std::uint32_t who);
  void go_idle(Client& client, std::uint32_t who);
  void notify(NodeId site, const Command& command);
  Nanos wanted_length();
  Command release(std::uint32_t who) const;
  std::uint32_t client_id(std::uint32_t who) const {
    return clients_[who].request * static_cast<std::uint32_t>(clients_.size()) + who;
  }
  void plan_clock_test(std::uint32_t who);

  // Notices.
  void receive(NodeId site, const Notice& notice);
  void enter(std::uint32_t who, const Notice& notice);
  void extend(NodeId site, const Notice& notice);
  void enter_view(const tempo::lock::lease::View& view);

  // Faults.
  void happen(const What& what);
  void crash(NodeId site);
  void restart(NodeId site);
  void wake_up(NodeId site);
  void cut();
  void change_view(NodeId site);
  void report_time(NodeId site);
  void plan(What::Kind kind, double per_second);
  Nanos span_up_to(Nanos most);
  void stop_faults();
  void run_until(Instant limit);
  bool enough() const { return faulty_ && entries_ >= setup_.entries; }

  Setup setup_;
  std::vector<sim::lock::Ledger> ledgers_;  // by lock
  std::vector<Client> clients_;
  Agenda<What> agenda_;
  std::vector<std::optional<Record>> disks_;  // by site
  std::vector<std::vector<Record>> being_written_;
  std::vector<std::vector<Command>> inbox_;  // for paused daemons
  std::vector<std::uint32_t> lives_;
  std::vector<std::int64_t> rates_;                             // ppb
  std::vector<std::optional<tempo::lock::lease::View>> views_;  // by number
  Stream chance_;                                               // of clients
  Stream mishap_;                                               // of faults
  Stream reading_;                                              // of network time
  bool faulty_ = true;
  bool wishes_ = true;
  std::uint64_t messages_ = 0;
  std::uint64_t entries_ = 0;
  Outcome outcome_;
  World<Member, Cluster> world_;
};

}  // namespace tempo::sim::lease
