// One tempod's locks in etcd: a lease, and under it a key for every lock that is had or waited for.
//
// Like a machine it does no I/O: whoever drives it brings what programs want, what etcd answered
// and what time it is (of a clock that goes on while the host sleeps), and carries out what it
// asks. Late answers, answers twice and no answers are all the same to it.
//
// The promise: nobody is told of a deadline after which etcd may already have given the lock away.
// A deadline counts from before the question was sent that renewed the lease, for the time that
// etcd said, less a thousandth for the rates of two clocks. And a renewal counts only when a read
// that a majority stands behind has found the same leader afterwards: a leader that was stopped,
// and does not know yet that there is another, renews what the other lets run out
// (doc/internals/decisions/024).
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
#include "services/etcd/words.h"

namespace tempo::etcd {

class Session {
 public:
  class Driver {
   public:
    virtual ~Driver() = default;
    virtual void ask(std::uint64_t number, const Question& question) = 0;
    virtual void notify(const ipc::LockUpdate& news) = 0;
    virtual void refuse(std::int64_t id, const std::string& sentence) = 0;
  };
  struct Options {
    std::string cluster;
    std::string host;  // whose key it is, for people who look
    Nanos lease{0};    // rounded up to whole seconds; etcd may make it longer
  };
  Session(Options options, Driver& driver) : options_(std::move(options)), driver_(&driver) {}

  // A program waits for a lock from now on, or is done with it. `id` is not in use.
  void acquire(Instant now, std::int64_t id, const std::string& name, bool shared);
  void release(Instant now, std::int64_t id);
  bool has(std::int64_t id) const { return claims_.contains(id); }
  std::size_t size() const { return claims_.size() + leaving_.size(); }

  void answered(Instant now, std::uint64_t number, const Result<Json>& answer);
  void changed(Instant now, std::string_view name);  // something about this lock
  void changed_perhaps(Instant now);  // about any: what was said may have been missed
  void heard_of_tempod(Instant now) { heard_ = now; }  // it lives; silent, it keeps no lock
  void on_timer(Instant now);
  Instant due() const;

  // Nobody wants anything more: what is held lasts until its deadline, what waits goes at once.
  void close(Instant now);

 private:
  enum class Stage : std::uint8_t { wanted, entering, waiting, inside };
  struct Claim {
    std::string name{};
    bool shared = false;
    Stage stage = Stage::wanted;
    std::string key{};
    bool unwanted = false;  // entering, and to leave when that is answered
    std::uint64_t known =
        0;  // waiting, inside: questions after this one were asked with the key there
  };
  struct Held {
    std::string id;
    Nanos span{0};
    Instant deadline{};  // of what is promised to programs
    Instant renew{};     // when it is to be renewed
  };
  struct Leaving {
    Instant next{};       // when to ask (again)
    bool unsure = false;  // the key may still come into being, by a question that got no answer
  };
  struct Asked {
    enum class Kind : std::uint8_t { grant, keep_alive, confirm, enter, look, remove, revoke };
    Kind kind = Kind::grant;
    Instant sent{};
    std::string lease{};
    std::int64_t id = 0;     // enter
    std::string name{};      // look
    std::string key{};       // remove
    std::uint64_t term = 0;  // confirm
    Nanos span{0};           // confirm
    Instant renewed{};       // confirm: when the keep-alive was sent
  };

  void ask(const Question& question, Asked asked);
  void push(Instant now);
  void enter(Instant now, std::int64_t id, Claim& claim);
  void leave(Instant now, const std::string& key, bool unsure);
  void look(Instant now, const std::string& name);
  // Whether the claim is still there.
  bool judge(Instant now, std::int64_t id, Claim& claim, const std::vector<InLine>& line);
  void heard_look(Instant now, std::uint64_t number, const Asked& asked,
                  const Result<Json>& answer);
  void lease_over(Instant now);
  void heard_grant(Instant now, const Asked& asked, const Result<Json>& answer);
  void heard_keep_alive(Instant now, const Asked& asked, const Result<Json>& answer);
  void heard_confirm(Instant now, const Asked& asked, const Result<Json>& answer);
  void heard_enter(Instant now, const Asked& asked, const Result<Json>& answer);
  void heard_remove(Instant now, const Asked& asked, const Result<Json>& answer);
  Nanos pause() const;  // before something is tried again

  Options options_;
  Driver* driver_;
  std::optional<Held> held_;
  bool granting_ = false;
  bool renewing_ = false;
  std::map<std::int64_t, Claim> claims_;    // as many as the driver lets in
  std::map<std::string, Leaving> leaving_;  // by key; of claims that are no more
  std::map<std::uint64_t, Asked> asked_;    // as many as there are claims, and a few
  std::map<std::string, bool> looking_;     // by name: whether to look once more
  Instant heard_{};
  std::uint64_t last_number_ = 0;
  std::uint64_t last_key_ = 0;
  Instant look_again_ = kNever;  // without news: a stream can be silent because it is broken
};

}  // namespace tempo::etcd
