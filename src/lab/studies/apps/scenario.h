// What happens to an application in one run, before anything has happened: what is asked of whom
// and when, who crashes, who is cut off. One seed decides it all.
//
// Times are counted in T, the time within which a broadcast is delivered. Every application has the
// fault that its naive version does not survive: crashes; a burst of jobs; contention; a partition.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "lab/studies/apps/duty.h"
#include "protocol/broadcast/bounds.h"

namespace tempo::sim::apps {

enum class Application : std::uint8_t {
  group_server,
  load_balancing,
  replicated_data,
  crash_recovery,
  group_joining,
  mutual_exclusion,
};

// How it is called, what it promises, and how people speak of it.
struct Portrait {
  Application application;
  std::string_view name;
  std::string_view property;   // its name is that of the file in promises/
  std::string_view criterion;  // what the capacity is
  std::string_view about;      // the promise in words
  std::string_view naive;      // what the naive version does
  std::string_view asked;      // what is counted, for JSON
  std::string_view done;
};
const std::vector<Portrait>& portraits();
const Portrait& portrait_of(Application application);

struct Setup {
  Application application = Application::group_server;
  std::uint32_t nodes = 5;
  double loss = 0;            // of each datagram; links repeat what was lost
  std::uint32_t crashes = 1;  // so many stop for ever
  bool naive = false;
  std::uint64_t seed = 1;
  Nanos delay = 1ms;        // of a datagram at most
  Nanos precision = 100us;  // clocks differ by at most this
};

inline constexpr std::uint32_t kMaxNodes = 64;
inline constexpr double kMaxLoss = 0.5;
// Founders of the group that others join.
std::uint32_t founders_of(std::uint32_t nodes);
// So many may crash, that the application can keep its promise.
std::uint32_t most_crashes(Application application, std::uint32_t nodes);

// How often a link repeats a datagram that is lost: then one of a million millions is.
std::uint32_t repeats_for(double loss);
// Between two repeats.
inline constexpr Nanos kRepeatGap = 250us;

struct Happening {
  enum class Kind : std::uint8_t { command, crash, cut, heal };
  Instant at{};
  Kind kind = Kind::command;
  NodeId node = kNobody;
  tempo::apps::Command command{};
  std::vector<bool> side{};  // of a cut: who is on one side
};

struct Plan {
  tempo::broadcast::Rules carrier{};
  tempo::apps::Rules rules{};
  std::vector<Happening> happenings{};  // in their order
  std::vector<Instant> crashes{};       // by node; kNever: it lives
  std::vector<std::int64_t> worths{};   // group server: by node
  std::uint64_t welcome = 0;            // joining: a bit for each process
  Instant end{};                        // there was time enough for everything
};
Plan plan_of(const Setup& setup);

}  // namespace tempo::sim::apps
