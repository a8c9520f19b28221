#include "lab/studies/group/apps/scenario.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "lab/sim/world.h"

namespace tempo::sim::apps {
namespace {

using tempo::apps::Command;

class Planner {
 public:
  explicit Planner(const Setup& setup)
      : setup_(setup), stream_(setup.seed, std::to_underlying(Cause::plan), 0) {
    const Nanos patience = repeats_for(setup.loss) * kRepeatGap;
    plan_.carrier = {.members = setup.nodes,
                     .delay = setup.delay + patience,
                     .precision = setup.precision,
                     .faulty = setup.crashes};
    bound_ = plan_.carrier.bound();
    plan_.rules = {.members = setup.nodes,
                   .bound = bound_,
                   .work = 2 * bound_,
                   .founders = founders_of(setup.nodes),
                   .naive = setup.naive};
    plan_.crashes.assign(setup.nodes, kNever);
  }

  Plan plan() {
    switch (setup_.application) {
      case Application::group_server:
        serve();
        break;
      case Application::load_balancing:
        balance();
        break;
      case Application::replicated_data:
        update();
        break;
      case Application::crash_recovery:
        recover();
        break;
      case Application::group_joining:
        join();
        break;
      case Application::mutual_exclusion:
        exclude();
        break;
    }
    std::ranges::stable_sort(plan_.events, {}, &PlannedEvent::at);
    return std::move(plan_);
  }

 private:
  // Upper bound on a task: an election, its work and two broadcasts. The same again for every
  // process that dies during it. In T.
  static constexpr int kTask = 20;

  void serve() {
    for (std::uint32_t i = 0; i < setup_.nodes; ++i) {
      plan_.worths.push_back(static_cast<std::int64_t>(stream_.below(1000)));
      command(0, NodeId{i}, Command::offer(plan_.worths.back()));
    }
    constexpr int kRequests = 6;
    ask(kRequests, 40, [](int) { return 1; });
    crash(setup_.nodes, 60);
    end(60 + kTask * (kRequests + crashes()));
  }

  // All jobs come in a burst: they are given out faster than they start to run.
  void balance() {
    const int jobs = 2 * static_cast<int>(setup_.nodes);
    ask(jobs, 10, [this](int) { return static_cast<std::int64_t>(1 + stream_.below(5)); });
    crash(setup_.nodes, 80);
    end(80 + kTask * (jobs + crashes()));
  }

  void recover() {
    constexpr int kTasks = 2;
    ask(kTasks, 10, [this](int) { return static_cast<std::int64_t>(3 + stream_.below(4)); });
    crash(setup_.nodes, 50);
    end(50 + 2 * kTask * (kTasks + crashes()));
  }

  // All processes want to enter all the time.
  void exclude() {
    const int rounds = 4 * static_cast<int>(setup_.nodes);
    for (int round = 0; round < rounds; ++round)
      for (std::uint32_t i = 0; i < setup_.nodes; ++i)
        command(6 * round + 6 * stream_.unit(), NodeId{i}, Command::ask(1));
    crash(setup_.nodes, 6 * rounds);
    end(6 * rounds + kTask * static_cast<int>(setup_.nodes + setup_.crashes));
  }

  void update() {
    constexpr int kUpdates = 6;
    ask(kUpdates, 60, [](int number) { return number + 1; });
    crash(setup_.nodes, 80);
    cut();
    end(80 + 2 * kTask * (kUpdates + crashes()));
  }

  void join() {
    const std::uint32_t founders = plan_.rules.founders;
    for (std::uint32_t i = founders; i < setup_.nodes; ++i) {
      // No founder admits an unwelcome process.
      const bool welcome = stream_.below(4) > 0;
      if (welcome) plan_.welcome |= std::uint64_t{1} << i;
      for (std::uint32_t member = 0; member < founders && !welcome; ++member)
        command(0, NodeId{member}, Command::distrust(NodeId{i}));
      command(60 * stream_.unit(), NodeId{i}, Command::ask(1));
    }
    crash(founders, 80);
    cut();
    end(80 + 2 * kTask * static_cast<int>(setup_.nodes + setup_.crashes));
  }

  int crashes() const { return static_cast<int>(setup_.crashes); }
  Instant at(double bounds) const {
    return Instant{} + Nanos{static_cast<Nanos::rep>(bounds * static_cast<double>(bound_.count()))};
  }
  void end(int bounds) { plan_.end = at(bounds); }

  void command(double when, NodeId node, const Command& order) {
    plan_.events.push_back(
        {.at = at(when), .kind = PlannedEvent::Kind::command, .node = node, .command = order});
  }
  template <class Value>
  void ask(int count, int until, Value value) {
    for (int i = 0; i < count; ++i) {
      const double when = until * stream_.unit();
      const NodeId node{static_cast<std::uint32_t>(stream_.below(setup_.nodes))};
      command(when, node, Command::ask(value(i)));
    }
  }

  // Crashes some of the first `among` nodes.
  void crash(std::uint32_t among, int until) {
    std::vector<std::uint32_t> nodes(among);
    for (std::uint32_t i = 0; i < among; ++i) nodes[i] = i;
    for (std::uint32_t i = 0; i < setup_.crashes; ++i) {
      std::swap(nodes[i], nodes[i + stream_.below(among - i)]);
      const Instant when = at(until * stream_.unit());
      plan_.crashes[nodes[i]] = when;
      plan_.events.push_back(
          {.at = when, .kind = PlannedEvent::Kind::crash, .node = NodeId{nodes[i]}});
    }
  }

  // Splits the network in two parts for a while.
  void cut() {
    std::vector<bool> side(setup_.nodes);
    for (std::uint32_t i = 0; i < setup_.nodes; ++i) side[i] = stream_.below(2) == 0;
    side[0] = true;
    side[setup_.nodes - 1] = false;
    const double from = 30 * stream_.unit();
    const double to = from + 10 + 30 * stream_.unit();
    plan_.events.push_back(
        {.at = at(from), .kind = PlannedEvent::Kind::cut, .command = {}, .side = std::move(side)});
    plan_.events.push_back({.at = at(to), .kind = PlannedEvent::Kind::heal});
  }

  Setup setup_;
  Stream stream_;
  Plan plan_;
  Nanos bound_{0};
};

}  // namespace

const std::vector<ApplicationInfo>& all_applications() {
  static const std::vector<ApplicationInfo> all{
      {.application = Application::group_server,
       .name = "group-server",
       .property = "one-answer",
       .criterion = "the load and location that a server reports",
       .about = "the most appropriate server answers every request, once",
       .naive = "no member watches the winner: a request whose server dies is not answered",
       .asked = "requests",
       .done = "answers"},
      {.application = Application::load_balancing,
       .name = "load-balancing",
       .property = "least-loaded",
       .criterion = "the load: lower is better",
       .about = "every job goes to the least loaded processor",
       .naive = "a job counts only while it runs: a burst goes to one processor",
       .asked = "jobs",
       .done = "placements"},
      {.application = Application::replicated_data,
       .name = "replicated-data",
       .property = "one-value",
       .criterion = "the waiting time of an update",
       .about = "only the winner with a majority writes: no version has two values",
       .naive = "a majority of the members that answer writes: each part of a partition has one",
       .asked = "updates",
       .done = "writes"},
      {.application = Application::crash_recovery,
       .name = "crash-recovery",
       .property = "each-step-once",
       .criterion = "the number of the process",
       .about = "another process finishes a dead coordinator's task; every step is done once",
       .naive = "the next coordinator restarts the task",
       .asked = "tasks",
       .done = "steps"},
      {.application = Application::group_joining,
       .name = "group-joining",
       .property = "majority-joins",
       .criterion = "the waiting time of a process",
       .about = "a majority admits each new member, and all members have the same list",
       .naive = "a majority of the members that answer suffices: a partition has two lists",
       .asked = "joiners",
       .done = "joins"},
      {.application = Application::mutual_exclusion,
       .name = "mutual-exclusion",
       .property = "fair-entry",
       .criterion = "the time since the process was last inside",
       .about =
           "one process is inside at a time, and each other one overtakes a process at most once",
       .naive = "the largest number enters: small numbers starve",
       .asked = "wishes",
       .done = "entries"},
  };
  return all;
}

const ApplicationInfo& info_of(Application application) {
  const auto found =
      std::ranges::find(all_applications(), application, &ApplicationInfo::application);
  CHECK(found != all_applications().end());
  return *found;
}

std::uint32_t founders_of(std::uint32_t nodes) { return nodes / 2 + 1; }

std::uint32_t most_crashes(Application application, std::uint32_t nodes) {
  if (application == Application::replicated_data) return (nodes - 1) / 2;
  if (application == Application::group_joining) return (founders_of(nodes) - 1) / 2;
  return nodes - 2;  // fewer than two members are not a group
}

std::uint32_t repeats_for(double loss) {
  CHECK(loss >= 0 && loss <= kMaxLoss);
  std::uint32_t repeats = 0;
  for (double left = loss; left > 1e-12; left *= loss) ++repeats;
  return repeats;
}

Plan plan_of(const Setup& setup) {
  CHECK(setup.nodes >= 3 && setup.nodes <= kMaxNodes);
  CHECK(setup.crashes <= most_crashes(setup.application, setup.nodes));
  return Planner(setup).plan();
}

}  // namespace tempo::sim::apps
