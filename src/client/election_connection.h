// The connection behind an Election, and what tempod has said of the candidacy.
//
// It belongs to the process that made it: in a forked child it neither leads nor says anything. Its
// clock is the machine's, except where a test has one of its own (fake.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <sys/types.h>

#include "api/group_requests.h"
#include "client/boot_clock.h"
#include "client/client.h"
#include "tempo/election.h"

namespace tempo {

class ElectionConnection {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;

  explicit ElectionConnection(client::Client client, Clock clock = boot_clock);

  // Why it cannot; nothing: it stands.
  std::optional<Error> stand(const std::string& group, const CandidateOptions& options,
                             std::chrono::nanoseconds timeout);
  Expected<bool, Error> dispatch(std::chrono::nanoseconds wait, int cancel);
  void offer(std::int64_t capacity);
  void stopped();
  void withdraw(bool job_done);

  std::chrono::nanoseconds deadline() const;
  std::chrono::nanoseconds remaining() const;
  std::uint64_t term() const { return foreign() ? 0 : term_; }
  bool stands() const { return stands_ && !foreign(); }
  int descriptor() const { return client_.descriptor(); }

  std::function<void(std::uint64_t)> on_lead;
  std::function<void()> on_stop;
  std::function<void(const std::string&)> on_follow;
  std::function<void(const std::string&)> on_job_done;
  std::function<void()> on_no_majority;
  bool stops_later = false;

 private:
  // Takes in the next of what has come; whether there was anything.
  bool take_one();
  void receive(const ipc::LeadershipUpdate& news);
  void lead();
  void stop();
  void say(const ipc::Request& request);
  bool foreign() const;  // this is a child of the process that it belongs to
  const Error& why_gone();

  client::Client client_;
  Clock clock_;
  pid_t owner_;
  bool stands_ = false;
  std::uint64_t elected_ = 0;  // the term that tempod has said; `term_` from when it is told of
  std::uint64_t term_ = 0;
  std::chrono::nanoseconds until_{0};
  std::optional<Error> gone_;
};

}  // namespace tempo
