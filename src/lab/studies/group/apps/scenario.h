// The plan of one run of an application: requests with their nodes and times, crashes, partitions.
// One seed determines the plan.
//
// Times are in units of T, the bound on the delivery of a broadcast. Every plan contains the fault
// that breaks the naive version: crashes, a burst of jobs, contention or a partition.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "lab/studies/group/apps/duty.h"
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

// Description of an application: names, property and texts for reports.
struct ApplicationInfo {
  Application application;
  std::string_view name;
  std::string_view property;   // name of the property; its file has the same name
  std::string_view criterion;  // meaning of the capacity
  std::string_view about;      // the property in words
  std::string_view naive;      // behaviour of the naive version
  std::string_view asked;      // name of the requests, for JSON
  std::string_view done;
};
const std::vector<ApplicationInfo>& all_applications();
const ApplicationInfo& info_of(Application application);

struct Setup {
  Application application = Application::group_server;
  std::uint32_t nodes = 5;
  double loss = 0;            // probability for each datagram; links repeat lost datagrams
  std::uint32_t crashes = 1;  // number of processes that stop permanently
  bool naive = false;
  std::uint64_t seed = 1;
  Nanos delay = 1ms;        // longest delay of a datagram
  Nanos precision = 100us;  // largest difference between clocks
};

inline constexpr std::uint32_t kMaxNodes = 64;
inline constexpr double kMaxLoss = 0.5;
// Number of founders of the group that others join.
std::uint32_t founders_of(std::uint32_t nodes);
// Largest number of crashes that the application tolerates.
std::uint32_t most_crashes(Application application, std::uint32_t nodes);

// Number of repeats after which a datagram is lost with probability below 1e-12.
std::uint32_t repeats_for(double loss);
// Time between two repeats.
inline constexpr Nanos kRepeatGap = 250us;

struct PlannedEvent {
  enum class Kind : std::uint8_t { command, crash, cut, heal };
  Instant at{};
  Kind kind = Kind::command;
  NodeId node = kNobody;
  tempo::apps::Command command{};
  std::vector<bool> side{};  // cut: nodes on one side
};

struct Plan {
  tempo::broadcast::Rules carrier{};
  tempo::apps::Rules rules{};
  std::vector<PlannedEvent> events{};  // by time
  std::vector<Instant> crashes{};      // by node; kNever: no crash
  std::vector<std::int64_t> worths{};  // group server: capacity of each node
  std::uint64_t welcome = 0;           // joining: a bit for each process
  Instant end{};                       // by then all work has had time to finish
};
Plan plan_of(const Setup& setup);

}  // namespace tempo::sim::apps
