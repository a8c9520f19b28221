// A script (machine/script.h) whose commands act on a World: hosts, faults, and the commands of one
// service. Hosts are host1, host2, ...; times are milliseconds since the start of the script.
//
// Settings come before the first act: hosts N, delay D, seed N, hide WORDS (lines whose text begins
// with one of these words, comma-separated, are not shown), and settings of the service. Then:
//
//     start HOST, start all     starts hosts that are down; a restarted host reads its disk
//     crash HOST                of a write in progress nothing reaches the disk
//     pause HOST, resume HOST
//     disk HOST full            writes do not finish until `disk HOST works`
//     disk HOST lost            the record is gone; takes effect when the host starts
//     partition HOSTS           comma-separated; they and the others cannot reach each other
//     heal                      ends the partition
//     lose FROM->TO WORD        loses the next message whose text begins with this word; * : any
//     host late FROM->TO WORD SPAN   delays it run SPAN                  lets time pass show shows
//     the state of every host HOST ...                  a command of the service
//
// The answer has a line for each output: "0 host1->host2 ...", "0 host1->* ..." for messages, "0
// host1 ..." for notices and records.
//
// A Service has these members. An output whose text is empty is not shown.
//
//     using Machine = ...;
//     Result<bool> setting(word, value);      // false: not a setting of this service
//     void set_hosts(count);                  // called once, after the settings
//     Machine make(node, incarnation, now, record);         // record: null if there is none
//     Result<Machine::Command> command(now, words);         // of one host; now is its clock
//     std::string text(message), text(notice), text(record);
//     std::string state(machine, now);
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/span_text.h"
#include "lab/sim/partition.h"
#include "lab/sim/world.h"
#include "machine/script.h"

namespace tempo::sim {

inline std::string host_name(NodeId host) { return fmt::format("host{}", index(host) + 1); }

// The number of the host named host1, host2, ...
inline Result<NodeId> host_named(std::string_view name, std::uint32_t hosts) {
  if (name.starts_with("host")) {
    const auto number = parse_number<std::uint32_t>(name.substr(4));
    if (number && *number >= 1 && *number <= hosts) return NodeId{*number - 1};
  }
  return std::unexpected(fmt::format("'{}' is not a host; hosts are host1 to host{}", name, hosts));
}

// Milliseconds, to the microsecond: "1999.599".
inline std::string script_time(TimePoint auto at) {
  const Nanos since = at.time_since_epoch();
  return milliseconds_text(since - since % 1us);
}

template <class Service>
class WorldScript final : public ScriptRunner, public NoWatch {
 public:
  using Machine = typename Service::Machine;
  using Message = typename Machine::Message;

  WorldScript() = default;
  WorldScript(const WorldScript&) = delete;
  WorldScript& operator=(const WorldScript&) = delete;

  Result<void> command(std::string_view line, std::string& answer) override {
    const std::vector<std::string_view> words = split_text(line, ' ');
    const std::string_view value = words.size() == 2 ? words[1] : std::string_view{};
    TRY(known, setting(words.front(), value));
    if (known && world_)
      return std::unexpected(fmt::format("'{}' must come before the first act", words.front()));
    if (known) return {};
    if (!world_) begin();
    if (words.front() != "quiet") {
      const Result<void> done = act(words);
      finish(answer);
      return done;
    }
    if (words.size() == 1) return std::unexpected("'quiet' needs a command");
    const Result<void> done = act({words.begin() + 1, words.end()});
    output_.clear();
    return done;
  }
  void finish(std::string& answer) override { answer += std::exchange(output_, {}); }

  // --- called by the World ---
  template <class W>
  void sent(const W& /*world*/, NodeId from, NodeId to, const Message& message,
            std::uint32_t /*number*/) {
    show_line(fmt::format("{}->{}", host_name(from), to == kNobody ? "*" : host_name(to)),
              service_.text(message));
  }
  // A partition loses many messages; only those that the script loses are shown.
  template <class W>
  void lost(const W& world, NodeId from, NodeId to, const Message& message,
            std::uint32_t /*number*/) {
    if (!world.reaches(from, to)) return;
    show_line(fmt::format("{}->{}", host_name(from), host_name(to)),
              service_.text(message) + " is lost");
  }
  template <class W>
  void noticed(const W& /*world*/, NodeId host, const typename Machine::Notice& notice) {
    show_line(host_name(host), service_.text(notice));
  }
  template <class W>
  void writes(const W& /*world*/, NodeId host, const RecordOf<Machine>& record) {
    show_line(host_name(host), service_.text(record));
  }
  template <class W>
  void stepped(const W& world, NodeId host) {
    if (const char* broken = world.machine(host).check())
      show_line(host_name(host), fmt::format("breaks its invariant: {}", broken));
  }

 private:
  static constexpr std::uint32_t kMaxHosts = 16;

  // The fate of the next message of a link whose text begins with a word.
  struct Plan {
    NodeId from = kNobody;  // kNobody: any host
    NodeId to = kNobody;
    std::string word{};
    Nanos extra{0};  // zero: it is lost
  };

  // False: not a setting.
  Result<bool> setting(std::string_view word, std::string_view value) {
    if (word == "hosts") {
      TRY(hosts, number_within<std::uint32_t>(value, 1, kMaxHosts));
      options_.nodes = hosts;
    } else if (word == "seed") {
      TRY(seed, number_within<std::uint64_t>(value, 0, ~std::uint64_t{0}));
      options_.seed = seed;
    } else if (word == "delay") {
      TRY(delay, Delay::parse(value));
      options_.link.delay = delay;
    } else if (word == "hide") {
      for (const std::string_view name : split_text(value, ',')) hidden_.emplace(name);
    } else {
      return service_.setting(word, value);
    }
    return true;
  }

  void begin() {
    service_.set_hosts(options_.nodes);
    world_.emplace(
        options_, [this](NodeId host, Incarnation incarnation) { return make(host, incarnation); },
        *this);
    world_->set_delivery([this](NodeId from, NodeId to, const Message& message) {
      return decide(from, to, message);
    });
  }

  Machine make(NodeId host, Incarnation incarnation) {
    const RecordOf<Machine>* record = nullptr;
    if constexpr (World<Machine>::kHasDisk) {
      const auto& disk = std::as_const(*world_).disk(host);
      if (disk.file() == Disk<Machine>::File::good) record = &disk.record();
    }
    return service_.make(host, incarnation, world_->local_now(host), record);
  }

  DeliveryDecision decide(NodeId from, NodeId to, const Message& message) {
    if (plans_.empty()) return {};
    const std::string text = service_.text(message);
    const auto plan = std::ranges::find_if(plans_, [&](const Plan& one) {
      return (one.from == kNobody || one.from == from) && (one.to == kNobody || one.to == to) &&
             text.substr(0, text.find(' ')) == one.word;
    });
    if (plan == plans_.end()) return {};
    const DeliveryDecision decision{.lost = plan->extra == Nanos{0}, .extra = plan->extra};
    plans_.erase(plan);
    return decision;
  }

  Result<void> act(const std::vector<std::string_view>& words) {
    const std::string_view verb = words.front();
    const std::size_t count = words.size();
    if (verb == "run" && count == 2) {
      TRY(span, parse_span(words[1]));
      world_->run_until(world_->now() + span);
    } else if (verb == "show" && count == 1) {
      show_states();
    } else if (verb == "start" && count == 2 && words[1] == "all") {
      for (std::uint32_t i = 0; i < options_.nodes; ++i)
        if (!world_->up(NodeId{i})) world_->start(NodeId{i});
    } else if ((verb == "start" || verb == "crash" || verb == "pause" || verb == "resume") &&
               count == 2) {
      return disturb(verb, words[1]);
    } else if (verb == "disk" && count == 3) {
      return set_disk(words[1], words[2]);
    } else if (verb == "partition" && count == 2) {
      side_.assign(options_.nodes, false);
      for (const std::string_view name : split_text(words[1], ',')) {
        TRY(host, host_named(name, options_.nodes));
        side_[index(host)] = true;
      }
      world_->set_partition(partition_between(side_));
    } else if (verb == "heal" && count == 1) {
      world_->set_partition({});
    } else if ((verb == "lose" && count == 3) || (verb == "late" && count == 4)) {
      return plan(words);
    } else if (verb.starts_with("host")) {
      TRY(host, host_named(verb, options_.nodes));
      if (!world_->up(host)) return std::unexpected(fmt::format("{} is down", verb));
      TRY(command, service_.command(world_->local_now(host),
                                    std::vector<std::string_view>(words.begin() + 1, words.end())));
      world_->command(host, command);
    } else {
      return std::unexpected(fmt::format("'{}' is not a command, or has other words", verb));
    }
    return {};
  }

  Result<void> disturb(std::string_view verb, std::string_view name) {
    TRY(host, host_named(name, options_.nodes));
    if ((verb == "start") == world_->up(host))
      return std::unexpected(fmt::format("{} is {}", name, verb == "start" ? "up" : "down"));
    if (verb == "start") world_->start(host);
    if (verb == "crash") world_->crash(host);
    if (verb == "pause") world_->pause(host);
    if (verb == "resume") world_->resume(host);
    return {};
  }

  Result<void> set_disk(std::string_view name, std::string_view what) {
    TRY(host, host_named(name, options_.nodes));
    if constexpr (World<Machine>::kHasDisk) {
      if (what == "lost")
        world_->disk(host).lose();
      else if (what == "full" || what == "works")
        world_->set_disk_works(host, what == "works");
      else
        return std::unexpected(fmt::format("a disk is full, works or lost, not '{}'", what));
      return {};
    }
    return std::unexpected("hosts of this service have no disk");
  }

  Result<void> plan(const std::vector<std::string_view>& words) {
    const std::size_t arrow = words[1].find("->");
    if (arrow == std::string_view::npos)
      return std::unexpected(fmt::format("'{}' should have the form host1->host2", words[1]));
    const auto end_of = [&](std::string_view name) -> Result<NodeId> {
      return name == "*" ? Result<NodeId>(kNobody) : host_named(name, options_.nodes);
    };
    TRY(from, end_of(words[1].substr(0, arrow)));
    TRY(to, end_of(words[1].substr(arrow + 2)));
    Plan plan{.from = from, .to = to, .word = std::string(words[2])};
    if (words.size() == 4) {
      TRY(extra, parse_span(words[3]));
      plan.extra = extra;
    }
    plans_.push_back(std::move(plan));
    return {};
  }

  void show_line(std::string_view subject, std::string_view text) {
    if (text.empty() || hidden_.contains(text.substr(0, text.find(' ')))) return;
    output_ += fmt::format("{} {} {}\n", script_time(world_->now()), subject, text);
  }
  void show_states() {
    for (std::uint32_t i = 0; i < options_.nodes; ++i) {
      const NodeId host{i};
      const char* absent = !world_->up(host) ? "is down" : world_->paused(host) ? "is paused" : "";
      output_ += fmt::format("{} {}\n", host_name(host),
                             *absent != '\0'
                                 ? absent
                                 : service_.state(world_->machine(host), world_->local_now(host)));
    }
  }

  Service service_;
  typename World<Machine, WorldScript>::Options options_{
      .nodes = 3, .link = {.delay = Delay::constant(1ms)}, .max_events = 1'000'000};
  std::set<std::string, std::less<>> hidden_;
  std::optional<World<Machine, WorldScript>> world_;  // from the first act on
  std::vector<bool> side_;                            // hosts of one side of the partition
  std::vector<Plan> plans_;
  std::string output_;  // lines that are not part of an answer yet
};

// The script with the answers of a World of this service.
template <class Service>
Result<std::string> answered_by(std::string_view script) {
  WorldScript<Service> runner;
  return answered(script, runner);
}

}  // namespace tempo::sim
