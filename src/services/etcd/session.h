// The locks of one tempod in etcd: one lease, and under it a key for every lock that is held or
// waited for.
//
// It does no I/O. The driver passes in the requests of programs, the answers of etcd and the time
// (of a clock that includes suspension), and carries out its requests. Late, duplicate and missing
// answers are handled.
//
// Guarantee: a reported deadline is never later than the time at which etcd may give the lock to
// another client. A deadline counts from before the request that renewed the lease, for the time
// stated by etcd, less one thousandth for the rates of two clocks. A renewal counts only after a
// linearizable read has found the same leader: a leader that was paused and does not know that it
// was replaced renews leases that its successor lets expire (doc/internals/decisions/024).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/control_protocol.h"
#include "base/json.h"
#include "base/result.h"
#include "base/units.h"
#include "services/etcd/etcd_api.h"

namespace tempo::etcd {

class Session {
 public:
  class Driver {
   public:
    virtual ~Driver() = default;
    virtual void ask(std::uint64_t number, const Request& request) = 0;
    virtual void notify(const ipc::LockUpdate& update) = 0;
    virtual void refuse(std::int64_t id, const std::string& sentence) = 0;
  };
  struct Options {
    std::string cluster;
    std::string host;  // value of the keys, for operators
    Nanos lease{0};    // rounded up to whole seconds; etcd may extend it
  };
  Session(Options options, Driver& driver) : options_(std::move(options)), driver_(&driver) {}

  // A program requests a lock, or releases it. `id` must not be in use.
  void acquire(BootTime now, std::int64_t id, const std::string& name, bool shared);
  void release(BootTime now, std::int64_t id);
  bool has(std::int64_t id) const { return claims_.contains(id); }
  std::size_t size() const { return claims_.size() + leaving_.size(); }

  void answered(BootTime now, std::uint64_t number, const Result<Json>& answer);
  void changed(BootTime now, std::string_view name);  // the queue of this lock has changed
  void changed_possibly(BootTime now);  // any queue may have changed: events may have been missed
  void tempod_active(BootTime now) {
    tempod_seen_ = now;
  }  // tempod is alive; without this call no lease is renewed
  void on_timer(BootTime now);
  BootTime due() const;

  // The connection of tempod is gone: held locks last until their deadlines, waiting requests are
  // removed at once.
  void close(BootTime now);

 private:
  enum class Stage : std::uint8_t { wanted, entering, waiting, inside };
  struct Claim {
    std::string name{};
    bool shared = false;
    Stage stage = Stage::wanted;
    std::string key{};
    bool released = false;  // released while entering: to be removed after the answer
    // waiting, inside: only requests after this number were sent while the key existed
    std::uint64_t known = 0;
  };
  struct Held {
    std::string id;
    Nanos span{0};
    BootTime deadline{};  // deadline reported to programs
    BootTime renew{};     // time of the next renewal
  };
  struct Leaving {
    BootTime next{};      // time of the next removal
    bool unsure = false;  // the key may still be created by a request without an answer
  };
  struct Asked {
    enum class Kind : std::uint8_t { grant, keep_alive, confirm, enter, look, remove, revoke };
    Kind kind = Kind::grant;
    BootTime sent{};
    std::string lease{};
    std::int64_t id = 0;     // enter
    std::string name{};      // look
    std::string key{};       // remove
    std::uint64_t term = 0;  // confirm
    Nanos span{0};           // confirm
    BootTime renewed{};      // confirm: send time of the keep-alive
  };

  void ask(const Request& request, Asked asked);
  void advance_claims(BootTime now);
  void enter(BootTime now, std::int64_t id, Claim& claim);
  void leave(BootTime now, const std::string& key, bool unsure);
  void look(BootTime now, const std::string& name);
  // Returns whether the claim still exists.
  bool judge(BootTime now, std::int64_t id, Claim& claim, const std::vector<QueueEntry>& line);
  void on_look(BootTime now, std::uint64_t number, const Asked& asked, const Result<Json>& answer);
  void on_lease_expired(BootTime now);
  void on_grant(BootTime now, const Asked& asked, const Result<Json>& answer);
  void on_keep_alive(BootTime now, const Asked& asked, const Result<Json>& answer);
  void on_confirm(BootTime now, const Asked& asked, const Result<Json>& answer);
  void on_enter(BootTime now, const Asked& asked, const Result<Json>& answer);
  void on_remove(BootTime now, const Asked& asked, const Result<Json>& answer);
  Nanos pause() const;  // pause before a retry

  Options options_;
  Driver* driver_;
  std::optional<Held> held_;
  bool granting_ = false;
  bool renewing_ = false;
  std::map<std::int64_t, Claim> claims_;    // bounded by the driver
  std::map<std::string, Leaving> leaving_;  // by key; keys of removed claims
  std::map<std::uint64_t, Asked> asked_;    // requests without an answer: about one per claim
  std::map<std::string, bool> looking_;     // by lock name; true: look once more after the answer
  BootTime tempod_seen_{};
  std::uint64_t last_number_ = 0;
  std::uint64_t last_key_ = 0;
  BootTime next_look_ = kNever;  // next look without an event: a broken stream is silent too
};

}  // namespace tempo::etcd
