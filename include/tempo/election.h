// libtempo: leading a group, one machine at a time.
//
//   tempo::CandidateOptions options;
//   options.capacity = free_slots();
//   auto election = tempo::Election::stand("web", options);
//   if (!election) return print_error(election.error().message);
//   election->on_lead([&](std::uint64_t term) { serve(term); });   // until on_stop
//   election->on_stop([&] { stop_serving(); });                    // this program must not lead
//   now for (;;) {
//     poll(election->descriptor() ...);                            // with other descriptors
//     if (auto alive = election->dispatch(); !alive) ...           // tempod is gone
//   }
//
// The candidate that the election proposes leads while it holds the lease of the group. `remaining`
// returns the time that is left: call it before every step, start no step that takes longer, and
// pass the term to the resource, so that the resource can refuse a term smaller than the largest
// one it has seen. The lease is released when `on_stop` returns: stop before it does. A program
// that was suspended gets no `on_lead` for a term that is over when it continues.
//
// If tempod restarts while this program leads, `dispatch` connects again and the program leads on
// in the same term, without a call of `on_stop`; otherwise it leads until its lease ends.
//
// One thread at a time uses an Election; only `dispatch` calls the callbacks. The destructor
// withdraws the candidate. An Election made before a fork belongs to the parent: in the child it
// does not lead (`remaining` is 0), `dispatch` fails, and its destructor does not withdraw the
// candidate; a child that wants to lead calls `stand` itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tempo/error.h"
#include "tempo/expected.h"

namespace tempo {

struct CandidateOptions {
  std::int64_t capacity = 0;         // the largest capacity wins; at least 0
  std::string criterion = "weight";  // meaning of the capacity; must be equal on all candidates
  std::string algorithm = "b1";      // election algorithm
  // A leader keeps its role at least this long before a better candidate may replace it.
  std::chrono::nanoseconds min_stay = std::chrono::seconds{30};
  bool once = false;  // a group for one job: it is over when one leader has done the job
  // For a role that ends only with its lease, whatever happens to this program, such as an address
  // that the kernel gives up: tempod does not release the lease of a program that dies, or loses
  // its connection, before the last deadline that it reported.
  bool keeps_lease = false;
  int cancel = -1;  // a descriptor; `stand` stops waiting when it is readable; -1: none
};

class ElectionConnection;

class Election {
 public:
  // Registers this program as the candidate of this host. `timeout`: longest wait for tempod.
  static Expected<Election, Error> stand(const std::string& group, const CandidateOptions& options,
                                         const std::string& socket = kDefaultControlSocket,
                                         std::chrono::nanoseconds timeout = std::chrono::seconds{
                                             5});
  ~Election();
  Election(Election&&) noexcept;
  Election& operator=(Election&&) noexcept;
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;

  void on_lead(std::function<void(std::uint64_t term)> call);
  void on_stop(std::function<void()> call);
  // The lease is not released when `on_stop` returns but when the program calls `confirm_stopped`.
  void require_stop_confirmation();
  void confirm_stopped();
  void on_follow(std::function<void(const std::string& leader)> call);  // empty: no leader known
  void on_job_done(std::function<void(const std::string& by)> call);    // groups with `once`
  void on_no_majority(std::function<void()> call);  // too few machines answer; no machine can lead

  // Readable when `dispatch` has work.
  int descriptor() const;
  // The connection to tempod, which changes when tempod restarts. A process that has a copy of it
  // keeps the candidate when this program dies.
  int socket() const;
  // Reads the updates that have arrived, or that arrive within `wait` and before the descriptor
  // `cancel` is readable (-1: none), and calls the callbacks. Returns whether there was an update.
  // After `cancelled` the program may continue; any other error is final: the connection is closed.
  Expected<bool, Error> dispatch(std::chrono::nanoseconds wait = {}, int cancel = -1);

  // Time for which this program certainly leads; 0: it does not lead. Does not wait.
  std::chrono::nanoseconds remaining() const;
  // End of that time, if tempod does not extend the lease again, on CLOCK_BOOTTIME.
  std::chrono::nanoseconds deadline() const;
  std::uint64_t term() const;  // of this program's leadership; 0: it does not lead
  bool is_candidate() const;   // false after `withdraw`, and when the one job is done
  // Takes effect at most once per `min_stay`.
  void set_capacity(std::int64_t capacity);
  // `job_done`: the one job of the group is done, and the group is over for all candidates.
  void withdraw(bool job_done = false);

 private:
  friend class FakeNetwork;
  static Expected<Election, Error> stand_on(std::unique_ptr<ElectionConnection> connection,
                                            const std::string& group,
                                            const CandidateOptions& options,
                                            std::chrono::nanoseconds timeout);
  explicit Election(std::unique_ptr<ElectionConnection> connection);
  std::unique_ptr<ElectionConnection> connection_;
};

}  // namespace tempo
