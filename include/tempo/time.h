// libtempo: network time with its bound, in less than 100 ns.
//
//   const auto page = tempo::TimePage::open();
//   if (!page) return print_error(page.error().message);
//   const tempo::Now now = page->now();          // now.earliest <= network time <= now.latest
//
// tempod publishes the time in a page of shared memory. A reading takes two readings of the system
// clocks and no system call. The bound widens with the page's age: when the daemon dies, the page
// becomes holdover after three seconds, and unsynchronized after an hour. Several threads may use
// all of this at once, except for moves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tempo/error.h"
#include "tempo/expected.h"

namespace tempo {

namespace page {
class Reader;
}

using NetworkTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

enum class TimeStatus : std::uint8_t {
  unsynchronized,  // network time is unknown; earliest and latest are no bound
  holdover,        // no master corrects the clock; the bound widens
  synchronized,    // the master corrects the clock
  leads,           // this host is the master; its clock is network time
  minority,        // cut off from the main part of the network; the bound widens
  alone,           // no other machine was ever heard; the time is the clock of this machine
};

struct Now {
  NetworkTime earliest = NetworkTime::min();
  NetworkTime latest = NetworkTime::max();
  TimeStatus status = TimeStatus::unsynchronized;
  NetworkTime time{};  // best single reading, between the two; for display, not for comparison
  // Generation of the time scale. A step of network time begins the next one; bounds of different
  // generations do not compare.
  std::uint32_t generation = 0;
};

inline constexpr const char* kDefaultTimePage = "/run/tempo/tempod.page";

class TimePage {
 public:
  // Fails with `no_daemon` if there is no page, or if it is truncated or of another version.
  static Expected<TimePage, Error> open(const std::string& path = kDefaultTimePage);
  ~TimePage();
  TimePage(TimePage&&) noexcept;
  TimePage& operator=(TimePage&&) noexcept;
  TimePage(const TimePage&) = delete;
  TimePage& operator=(const TimePage&) = delete;

  Now now() const;

  // Waits until `instant` has certainly passed on every machine: now().earliest is later. Returns
  // false if that takes longer than `limit`, as when network time is unknown, or if the descriptor
  // `cancel` is readable first (-1: none).
  bool wait_until_after(NetworkTime instant, std::chrono::nanoseconds limit, int cancel = -1) const;

 private:
  explicit TimePage(std::unique_ptr<page::Reader> reader);
  std::unique_ptr<page::Reader> reader_;
};

// Timestamps for events. The timestamps of one source never repeat and never go back, even when an
// operator sets network time back; each is at least now().latest at the time of the call.
//
// Two sources, in two processes or on two machines, may return the same number at about the same
// time. If a program calls wait_until_after(stamp) before it announces its event, every timestamp
// that any source returns afterwards is larger (commit-wait). To make timestamps unique across
// sources, append a unique name to each.
class Timestamps {
 public:
  // `page` must outlive this object.
  explicit Timestamps(const TimePage& page) : page_(&page) {}
  // Returns nullopt while network time is unknown.
  std::optional<NetworkTime> next();

 private:
  const TimePage* page_;
  std::atomic<std::int64_t> last_{INT64_MIN};
};

}  // namespace tempo
