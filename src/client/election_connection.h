// The connection behind an Election and the state of its candidacy.
//
// It belongs to the process that made it: in a forked child it neither leads nor sends. Its clock
// is CLOCK_BOOTTIME, or the clock of a fake network (fake.h).
//
// If the connection breaks while this program leads, because tempod restarts, this connects again
// until the deadline and resumes the lead. Between attempts the descriptor becomes readable when
// the next one is due. A candidate that does not lead stands again itself.
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
#include "client/wake_descriptor.h"
#include "tempo/election.h"

namespace tempo {

class ElectionConnection {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;

  // Connects again to this socket.
  ElectionConnection(client::Client client, std::string socket);
  // Does not connect again.
  ElectionConnection(client::Client client, Clock clock);

  // Returns why tempod did not accept the candidate; nullopt: it did.
  std::optional<Error> stand(const std::string& group, const CandidateOptions& options,
                             std::chrono::nanoseconds timeout);
  Expected<bool, Error> dispatch(std::chrono::nanoseconds wait, int cancel);
  void set_capacity(std::int64_t capacity);
  void confirm_stopped();
  void withdraw(bool job_done);

  std::chrono::nanoseconds deadline() const;
  std::chrono::nanoseconds remaining() const;
  std::uint64_t term() const { return in_child() ? 0 : term_; }
  bool is_candidate() const { return is_candidate_ && !in_child(); }
  int descriptor() const { return events_.number(); }
  int socket() const { return client_.descriptor(); }

  std::function<void(std::uint64_t)> on_lead;
  std::function<void()> on_stop;
  std::function<void(const std::string&)> on_follow;
  std::function<void(const std::string&)> on_job_done;
  std::function<void()> on_no_majority;
  bool requires_stop_confirmation = false;  // wait for `confirm_stopped` after `on_stop`

 private:
  // Handles the next reply that has arrived; returns whether there was one.
  bool handle_one();
  void receive(const ipc::LeadershipUpdate& update);
  void lead();
  void stop();
  void send(const ipc::Request& request);
  void send_last(const ipc::Request& request);
  bool in_child() const;  // this process is a forked child of the owner
  const Error& closed_error();

  // The connection broke.
  void lose(const Error& error);
  bool can_resume() const;
  void reconnect();
  bool connect_again();
  void end_lead();

  client::Client client_;
  Clock clock_;
  std::string socket_{};  // empty: does not connect again
  client::WakeDescriptor events_;
  pid_t owner_;
  ipc::Request candidacy_{.by_ns = {}, .to_ns = {}};  // the request `elect`
  std::uint64_t lead_term_ = 0;  // term of the lease that tempod holds for this program; 0: none
  std::string session_{};        // of that lease; empty: tempod cannot resume it
  std::optional<Error> lost_{};  // set: the connection broke, and the lead may be resumed
  std::chrono::nanoseconds again_at_{0};  // then: time of the next attempt to connect
  bool resuming_ = false;                 // asked to resume, and tempod has not answered
  bool is_candidate_ = false;
  std::uint64_t elected_ = 0;          // term that tempod reported; 0: not elected
  std::uint64_t term_ = 0;             // the same, from the call of `on_lead` on
  std::chrono::nanoseconds until_{0};  // end of the lease; 0: none
  std::optional<Error> closed_;        // set: the connection is unusable
};

}  // namespace tempo
