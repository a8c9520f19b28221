// The daemon's locks: from the first words about who votes to the clients at the door.
//
// While there are no voters yet it finds them (lock::Founding); from then on it drives the lock
// service. What must be on disk is written by the parent, for a write can take long; without a
// parent it is written here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "live/daemon/life.h"
#include "live/daemon/links.h"
#include "live/daemon/lock_record.h"
#include "live/daemon/parent_line.h"
#include "protocol/lock/founding.h"
#include "protocol/locks/service.h"
#include "protocol/node/mailroom.h"

namespace tempo::daemon {

class LockRoom final : private locks::Driver {
 public:
  // All must outlive the room. Without a parent, writes are done here.
  struct Parts {
    const Life* life = nullptr;
    node::Mailroom* mailroom = nullptr;
    Links* links = nullptr;
    Draw* draw = nullptr;
    const ParentLine* parent = nullptr;
  };
  explicit LockRoom(const Parts& parts) : parts_(parts) {}

  using Tell = std::function<void(std::string what, std::string details)>;
  void start(Tell tell);  // `tell` hears of events

  void hear(NodeId from, const wire::LockBody& body);
  void hear(NodeId from, const wire::RosterBody& body);
  void hear_written(std::string_view number);  // the parent has written that one

  std::optional<Nanos> due_in() const;  // nothing: nothing is due
  void wake();
  void each_second();

  // --- for the door ---
  using OnNews = std::function<void(locks::ClientId client, const locks::News& news)>;
  void on_news(OnNews on_news) { on_news_ = std::move(on_news); }
  Result<void> want(const locks::Service::Wish& wish);
  void done(locks::ClientId client);
  std::vector<locks::Known> known() const;

  // What is promised, or why there are no locks, in a sentence.
  std::string promise() const;
  bool serves() const;
  HostId self() const { return parts_.life->host; }

  static constexpr std::string_view kWrite = "@write";      // to the parent: number, text
  static constexpr std::string_view kWritten = "@written";  // from it: number

 private:
  struct Writing {
    std::uint64_t number = 0;
    std::string text{};
  };

  void broadcast(const wire::LockBody& body) override;
  void send(HostId to, const wire::LockBody& body) override;
  void write(const locks::Record& record) override;
  void tell(locks::ClientId client, const locks::News& news) override;

  void broadcast_bytes(std::span<const std::byte> bytes);
  template <class Do>
  void step_founding(Do todo);
  void found(const lock::Founding::Word& word);
  void save();
  void ask_parent();
  void saved();
  wire::RosterBody body_of(const lock::Founding::Word& word) const;
  std::optional<lock::Founding::Word> word_of(LockRecord::Stage stage,
                                              std::span<const HostId> voters);
  std::size_t voters_heard() const;

  Parts parts_;
  Tell tell_;
  OnNews on_news_;
  LockRecord record_;  // as it is, or is to be, on disk
  std::optional<Writing> writing_;
  std::uint64_t writes_ = 0;
  bool rebooted_ = false;
  bool split_ = false;                            // somebody has other voters
  std::optional<lock::Founding> founding_;        // nothing: no voters are expected
  std::optional<lock::Founding::Word> new_word_;  // being written
  std::optional<locks::Record> new_record_;       // being written
  std::optional<locks::Service> service_;         // once there are voters, at each of them
};

}  // namespace tempo::daemon
