// One simulated run of lease locks: the world, its clients, and the ledgers that check it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lab/sim/agenda.h"
#include "lab/sim/world.h"
#include "lab/studies/lock/lease_run.h"
#include "lab/studies/lock/ledger.h"
#include "protocol/lock/lease/lease_member.h"

namespace tempo::sim::lease {

class Cluster : public NoWatch {
 public:
  using Member = tempo::lock::lease::Member;
  using Command = tempo::lock::lease::Command;
  using Notice = tempo::lock::lease::Notice;

  explicit Cluster(const Setup& setup);
  Outcome run();

  // --- called by the world ---
  template <class World>
  void sent(const World& /*world*/, NodeId /*from*/, NodeId to,
            const tempo::lock::lease::Message& message, std::uint32_t /*number*/) {
    ++outcome_.sent[std::to_underlying(message.kind)];
    messages_ += to == kNobody ? setup_.sites - 1 : 1;
  }
  template <class World>
  void noticed(const World& /*world*/, NodeId site, const Notice& notice) {
    on_notice(site, notice);
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
    std::uint32_t number = 0;  // index in its lock's ledger
    State state = State::idle;
    std::uint32_t request = 0;  // number of the current request
    tempo::lock::Mode mode = tempo::lock::Mode::exclusive;
    BootTime deadline{};  // on its site's clock
    bool orphan = false;  // inside, and the daemon that granted the lock is dead
    // A client that may resume, with what its daemon gave it.
    tempo::lock::lease::Session session{};
    Nanos length{0};
    tempo::lock::Token token{};
    NodeId origin = kNobody;
    bool returning = false;  // an orphan that has asked the next incarnation to confirm its lock
  };
  struct Event {
    enum class Kind : std::uint8_t {
      ask,
      quit,
      leave,
      hang_up,
      come_back,
      deadline,
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
    std::uint32_t which = 0;    // client or site, depending on the kind
    std::uint32_t request = 0;  // request of the client
  };

  // Clients.
  void ask(std::uint32_t which);
  void quit(std::uint32_t which);
  void leave(std::uint32_t which);
  void hang_up(std::uint32_t which);
  void come_back(std::uint32_t which);
  void test_clock(std::uint32_t which);
  void go_idle(Client& client, std::uint32_t which);
  void send_command(NodeId site, const Command& command);
  Nanos wanted_length();
  Command release(std::uint32_t which) const;
  std::uint32_t client_id(std::uint32_t which) const {
    return clients_[which].request * static_cast<std::uint32_t>(clients_.size()) + which;
  }
  void plan_clock_test(std::uint32_t which);

  // Notices.
  void on_notice(NodeId site, const Notice& notice);
  void enter(std::uint32_t which, const Notice& notice);
  void enter_again(std::uint32_t which, const Notice& notice);
  void extend(NodeId site, const Notice& notice);
  void enter_view(const tempo::lock::lease::View& view);

  // Faults.
  void happen(const Event& event);
  void crash(NodeId site);
  void restart(NodeId site);
  void wake_up(NodeId site);
  void cut();
  void change_view(NodeId site);
  void report_time(NodeId site);
  void plan(Event::Kind kind, double per_second);
  Nanos span_up_to(Nanos most);
  void stop_faults();
  void run_until(Instant limit);
  bool enough() const { return faulty_ && entries_ >= setup_.entries; }

  Setup setup_;
  std::vector<sim::lock::Ledger> ledgers_;  // by lock
  std::vector<Client> clients_;
  Agenda<Event> agenda_;
  std::vector<std::vector<Command>> inbox_;  // by site: commands that wait for a paused daemon
  std::vector<std::int64_t> rates_;          // clock rate by site, in ppb
  std::vector<std::optional<tempo::lock::lease::View>> views_;  // by view number
  Stream client_stream_;                                        // random choices of the clients
  Stream fault_stream_;                                         // random choices of the faults
  Stream reading_stream_;                                       // errors of network time
  bool faulty_ = true;
  bool requesting_ = true;
  std::uint64_t messages_ = 0;
  std::uint64_t entries_ = 0;
  Outcome outcome_;
  World<Member, Cluster> world_;
};

}  // namespace tempo::sim::lease
