// A site under study: the lock, a client that uses it, and the time to handle a message.
//
// The client thinks, asks, stays inside for up to the longest hold, leaves, and thinks again; for
// the checker it asks on command. Messages wait until they are handled, in series or in parallel.
// The lock's own timers do not wait for them, which is the worst case.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/compose.h"
#include "protocol/lock/mutex.h"

namespace tempo::sim::lock {

struct SiteRules {
  tempo::lock::mutex::Rules lock{};
  std::uint32_t contending = 0;   // sites 0 to contending - 1 have a client
  std::uint32_t readers = 0;      // the first of these ask for shared mode
  bool restless = true;           // the client asks by itself; false: on command
  tempo::lock::Steps thinks = 0;  // longest think time, in steps

  bool contends(NodeId site) const { return index(site) < contending; }
  tempo::lock::Mode mode(NodeId site) const {
    return index(site) < readers ? tempo::lock::Mode::shared : tempo::lock::Mode::exclusive;
  }
};

struct SiteCommand {
  enum class Kind : std::uint8_t {
    ask,
    close,   // clients stop asking
    bounds,  // `lock` tells the lock whether the bounds hold
  };
  Kind kind = Kind::ask;
  tempo::lock::mutex::Command lock{};

  static constexpr auto fields(auto list) {
    return list(field<&SiteCommand::kind>("kind"), field<&SiteCommand::lock>("lock"));
  }
};

struct SiteNotice {
  enum class Kind : std::uint8_t {
    asked,      // the client wants to enter
    requested,  // the lock has sent its request
    entered,
    left,
  };
  Kind kind = Kind::asked;
  tempo::lock::mutex::Number number = 0;  // number of the request

  static constexpr auto fields(auto list) {
    return list(field<&SiteNotice::kind>("kind"), field<&SiteNotice::number>("number"));
  }
};

class Site {
 public:
  using Lock = tempo::lock::Mutex;
  using Message = Lock::Message;
  using Time = BootTime;
  using Command = SiteCommand;
  using Notice = SiteNotice;
  using Parts = PartList<Lock>;
  enum class Client : std::uint8_t { none, thinks, asks, inside };
  // Timers due at the same instant fire in this order: messages first.
  enum class Timer : std::uint8_t { inbox, phase, patience, answer, client, count };

  // The rules are shared by many machines and must outlive them.
  Site(NodeId self, Incarnation incarnation, const SiteRules& rules,
       tempo::lock::mutex::Birth birth)
      : rules_(&rules), lock_(self, incarnation, rules.lock, birth) {}

  void start(Turn<Site>& turn);
  void receive(Turn<Site>& turn, NodeId from, const Message& message);
  void on_timer(Turn<Site>& turn, TimerId timer);
  void command(Turn<Site>& turn, const Command& command);

  Timers<Timer, Time> timers() const;
  const char* check() const { return lock_.check(); }

  const Lock& lock() const { return lock_; }
  Client client() const { return client_; }
  tempo::lock::Mode mode() const { return rules_->mode(lock_.self()); }
  BootTime leaves_at() const { return client_at_; }

  static constexpr auto fields(auto list) {
    using M = Site;
    return list(field<&M::lock_>("lock"), field<&M::client_>("client"),
                field<&M::closed_>("closed"), field<&M::inbox_>("inbox"),
                field<&M::busy_until_>("busy_until"),
                field<&M::client_at_, role::timer>("client_at"), fixed<&M::rules_>());
  }
  friend FieldCheck;

 private:
  struct Received {
    BootTime handled{};
    NodeId from = kNobody;
    Message message{};

    static constexpr auto fields(auto list) {
      using M = Received;
      return list(field<&M::handled, role::timer>("handled"), field<&M::from>("from"),
                  field<&M::message>("message"));
    }
  };
  static constexpr std::size_t kMaxInbox = 1 << 12;  // further messages are lost

  template <class Do>
  void drive(Turn<Site>& turn, Do todo);
  void on_notice(Turn<Site>& turn, const Lock::Notice& notice);
  void think(Turn<Site>& turn);
  void ask(Turn<Site>& turn);
  void leave(Turn<Site>& turn);
  BootTime later(Turn<Site>& turn, tempo::lock::Steps steps) const;

  const SiteRules* rules_;
  Lock lock_;
  Client client_ = Client::none;
  bool closed_ = false;
  std::vector<Received> inbox_;  // by the time at which their handling ends
  BootTime busy_until_{};        // serial: end of the last handling
  BootTime client_at_ = kNever;  // when the client stops thinking, or leaves
};

static_assert(CheckableMachine<Site>);

}  // namespace tempo::sim::lock
