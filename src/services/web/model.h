// The state of the network as tempod of this machine reports it, its recent history, and the
// messages for the readers of the event stream. No I/O: time is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/control_protocol.h"
#include "api/metrics/metrics.h"
#include "api/snapshot.h"
#include "base/json.h"
#include "base/units.h"
#include "services/web/history.h"
#include "services/web/messages.h"

namespace tempo::web {

class Model {
 public:
  static constexpr std::size_t kMaxEvents = 300;
  static constexpr std::size_t kMaxMoves = 200;
  static constexpr std::size_t kMaxSeries = 4096;
  static constexpr Nanos kFresh = 5s;  // tempod sends its status at least once a second

  // Replies of tempod.
  void on_status(const Json& status, Instant now);
  void on_event(const ipc::Event& event);
  void on_locks(const ipc::Reply& reply, Instant now);
  void on_groups(const ipc::Reply& reply);
  void on_findings(const ipc::Reply& reply);
  void on_connection(bool connected, const std::string& error);

  bool fresh(Instant now) const { return connected_ && snapshot_ && now - seen_ <= kFresh; }
  const std::string& error() const { return error_; }  // why there is no connection
  const Messages& messages() const { return messages_; }

  // JSON; empty: nothing is known yet.
  const std::string& status() const { return status_; }
  std::string members() const;
  const std::string& locks() const { return locks_; }
  const std::string& groups() const { return groups_; }
  const std::string& findings() const { return findings_; }
  std::string events() const;
  // Of the member with this id; empty: unknown.
  std::string history(std::string_view id, double span_s) const;
  std::string metrics(obs::MetricsFormat format) const;
  // Everything, as the first message of a stream.
  Text state() const;

 private:
  // A lock or group that has another holder.
  struct Move {
    std::int64_t at_ns = 0;
    std::string what;  // lock, group
    std::string name;
    std::string from;
    std::string to;
    std::string token;
  };
  void note_holder(std::map<std::string, std::string>& holders, const char* what,
                   const std::string& name, const std::string& holder, const std::string& token);
  void record(const obs::Snapshot& snapshot);
  void send_members(const Json& members, std::size_t size, Instant now);
  // The newest `count` ones.
  std::string moves_json(std::size_t count) const;
  void send_moves();
  std::string connection_json() const;
  void changed(std::string_view event, std::string& kept, std::string now_is);

  bool connected_ = false;
  std::string error_ = "not connected to tempod yet";
  std::optional<obs::Snapshot> snapshot_;
  std::optional<ipc::LocksView> locks_view_;
  Instant seen_{};
  Instant members_sent_{};
  std::string members_key_;  // of the members, what a reader must see at once
  std::string status_;
  std::string locks_;
  std::string groups_;
  std::string findings_;
  std::deque<ipc::Event> events_;
  std::deque<Move> moves_;
  std::size_t moves_unsent_ = 0;  // of the newest ones
  bool locks_unsent_ = false;
  Instant locks_sent_{};
  std::map<std::string, std::string> lock_holders_;
  std::map<std::string, std::string> group_leaders_;
  std::map<std::string, Series, std::less<>> series_;
  Messages messages_;
  mutable Text state_;  // of the position below
  mutable std::uint64_t state_at_ = 0;
};

}  // namespace tempo::web
