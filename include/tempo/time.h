// libtempo: the network's time, with its bound, in less than 100 ns.
//
//   const auto page = tempo::TimePage::open();
//   if (!page) return complain(page.error());
//   const tempo::Now now = page->now();          // now.earliest <= network time <= now.latest
//
// tempod publishes the time in a page of shared memory; reading it is two readings of the system's
// clocks and no system call. The bound widens with the page's age: when the daemon dies, the page
// becomes holdover after three seconds, and unsynchronized after an hour. Everything here may be
// used by several threads at once, except moving.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tempo/expected.h"

namespace tempo {

namespace page {
class Reader;
}

using NetworkTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

enum class TimeStatus : std::uint8_t {
  unsynchronized,  // the network's time is not known: earliest and latest are no bound
  holdover,        // nobody corrects the clock now; the bound widens
  synchronized,
  leads,  // this host is the master, its clock is the network's time
};

struct Now {
  NetworkTime earliest = NetworkTime::min();
  NetworkTime latest = NetworkTime::max();
  TimeStatus status = TimeStatus::unsynchronized;
  NetworkTime time{};  // the best single reading, between the two: for people, not for comparing
};

inline constexpr const char* kDefaultTimePage = "/run/tempo/tempod.page";

class TimePage {
 public:
  // A failure is a sentence that names the cure: no daemon, another version, cut short.
  static Expected<TimePage, std::string> open(const std::string& path = kDefaultTimePage);
  ~TimePage();
  TimePage(TimePage&&) noexcept;
  TimePage& operator=(TimePage&&) noexcept;
  TimePage(const TimePage&) = delete;
  TimePage& operator=(const TimePage&) = delete;

  Now now() const;

  // Waits until `instant` has certainly passed, everywhere: now().earliest is later. False if that
  // does not happen within `limit`, as when the network's time is not known, or if the descriptor
  // `cancel` can be read before.
  bool wait_until_after(NetworkTime instant, std::chrono::nanoseconds limit, int cancel = -1) const;

 private:
  explicit TimePage(std::unique_ptr<page::Reader> reader);
  std::unique_ptr<page::Reader> reader_;
};

// Timestamps for events. Those of one source never repeat and never go back, not even when the
// network's time is set back by hand; each is at least now().latest when it was asked for.
//
// Across processes and machines: two sources may give the same number at about the same time. But
// if one waits with wait_until_after(stamp) before it tells anybody of its event, then every stamp
// that any source gives from then on is larger (commit-wait). Whoever needs more than an order of
// events that know of each other adds a name of its own to the stamp.
class Timestamps {
 public:
  // The page must outlive it.
  explicit Timestamps(const TimePage& page) : page_(&page) {}
  // Nothing while the network's time is not known.
  std::optional<NetworkTime> next();

 private:
  const TimePage* page_;
  std::atomic<std::int64_t> last_{INT64_MIN};
};

}  // namespace tempo
