// libtempo: leading a group, one machine at a time.
//
//   tempo::CandidateOptions options;
//   options.capacity = free_slots();
//   auto election = tempo::Election::stand("web", options);
//   if (!election) return complain(election.error().sentence);
//   election->on_lead([&](std::uint64_t term) { serve(term); });   // until told to stop
//   election->on_stop([&] { stop_serving(); });                    // another is to lead, or may
//   for (;;) {
//     poll(election->descriptor() ...);                            // beside whatever else there is
//     if (auto alive = election->dispatch(); !alive) ...           // tempod is gone
//   }
//
// Whoever the election proposes leads once it holds the group's lease, for as long as that lasts.
// `remaining` says how long: ask before every step, plan no step that takes longer, and give the
// term to the resource, so that it can refuse one that is smaller than the largest it has seen.
// After `on_stop` has returned the lease is let go: stop before it does. A program that slept is
// not told to lead in a term that is over by then. When tempod is gone, a leader leads until its
// lease ends and no longer.
//
// For one thread at a time; callbacks are called from `dispatch` alone. Its destructor withdraws.
// What was made before a fork belongs to the parent: the child does not lead (`remaining` is 0),
// `dispatch` fails with a sentence, and no destructor withdraws the parent; a child that wants to
// be a candidate stands anew.
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
  std::int64_t capacity = 0;         // the largest wins; not below 0
  std::string criterion = "weight";  // what it measures: all candidates must say the same
  std::string algorithm = "b1";
  std::chrono::nanoseconds min_stay = std::chrono::seconds{30};
  bool once = false;  // for one job: over when one has done it
  int cancel = -1;    // a descriptor: when it can be read, `stand` waits no longer
};

class ElectionConnection;

class Election {
 public:
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
  // Instead of letting the lease go when `on_stop` returns, wait for `stopped`.
  void stops_later();
  void stopped();
  void on_follow(std::function<void(const std::string& leader)> call);  // empty: nobody leads
  void on_job_done(std::function<void(const std::string& by)> call);
  void on_no_majority(std::function<void()> call);

  // Can be read when `dispatch` has something to do.
  int descriptor() const;
  // Takes in what has come, or comes within `wait` and before the descriptor `cancel` can be read;
  // whether there was anything. A failure that is cancelled is not the end; any other is: tempod is
  // gone, nothing comes any more.
  Expected<bool, Error> dispatch(std::chrono::nanoseconds wait = {}, int cancel = -1);

  // How long this program certainly leads; 0: it does not. It waits for nothing.
  std::chrono::nanoseconds remaining() const;
  // When that ends if tempod extends it no more, on CLOCK_BOOTTIME.
  std::chrono::nanoseconds deadline() const;
  std::uint64_t term() const;  // of this program's leadership; 0: none
  bool stands() const;         // until it withdraws, or its one job is done
  void offer(std::int64_t capacity);
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
