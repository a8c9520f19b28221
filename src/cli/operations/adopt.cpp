#include "cli/operations/adopt.h"

#include <array>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/common/daemon.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "platform/time_daemons.h"
#include "platform/whole_file.h"

namespace tempo::cli {
namespace {

constexpr std::size_t kMaxOutput = 4096;  // bytes of systemctl that are read
constexpr std::size_t kMaxRecord = 4096;
constexpr const char* kOurs = "tempod.service";

struct Ended {
  bool good = false;
  std::string output;  // of both streams, without the last newline
};

// Runs systemctl with these words, which come from tables and not from users.
Ended systemctl(const std::string& words) {
  std::FILE* pipe = ::popen(("exec systemctl " + words + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  Ended ended;
  std::array<char, 512> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    if (ended.output.size() < kMaxOutput) ended.output.append(buffer.data(), got);
  while (ended.output.ends_with('\n')) ended.output.pop_back();
  const int status = ::pclose(pipe);
  ended.good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return ended;
}

// A unit that would steer the clock, now or after the next boot.
struct Unit {
  std::string name;
  bool active = false;
  bool enabled = false;
};

// Without systemd, as in a chroot, `is-active` fails and the unit counts as not active.
std::vector<Unit> units_in_use() {
  std::vector<Unit> found;
  for (const sys::TimeDaemon& known : sys::known_time_daemons()) {
    const std::string name(known.unit);
    if (name.empty() || (!found.empty() && found.back().name == name)) continue;
    const Unit unit{.name = name,
                    .active = systemctl("is-active " + name).good,
                    .enabled = systemctl("is-enabled " + name).good};
    if (unit.active || unit.enabled) found.push_back(unit);
  }
  return found;
}

// Programs that steer the clock and belong to no unit in `units`.
std::vector<std::string> other_programs(const std::vector<Unit>& units) {
  std::vector<std::string> programs;
  for (const sys::RunningTimeDaemon& running : sys::running_time_daemons("/proc")) {
    bool known = !running.steers_clock;
    for (const Unit& unit : units) known = known || unit.name == running.daemon.unit;
    if (!known)
      programs.push_back(fmt::format("{} (process {})", running.daemon.name, running.process));
  }
  return programs;
}

std::string list_of(const std::vector<Unit>& units) {
  std::string text;
  for (const Unit& unit : units)
    text += fmt::format("{}{} ({}{}{})", text.empty() ? "" : ", ", unit.name,
                        unit.active ? "running" : "", unit.active && unit.enabled ? ", " : "",
                        unit.enabled ? "enabled" : "");
  return text;
}

Json json_of(const std::vector<Unit>& units, const std::vector<std::string>& programs) {
  Json list = Json::array();
  for (const Unit& unit : units)
    list.push(Json::object()
                  .add("unit", unit.name)
                  .add("active", unit.active)
                  .add("enabled", unit.enabled));
  Json others = Json::array();
  for (const std::string& program : programs) others.push(program);
  return Json::object().add("units", list).add("programs", others);
}

std::string record_path(const AdoptArguments& arguments) {
  return arguments.state_dir + "/adopted";
}

// "chrony.service active" or "chrony.service inactive", one line per masked unit.
Result<std::vector<Unit>> read_record_of(const AdoptArguments& arguments) {
  const sys::FileText file = sys::read_file(record_path(arguments), kMaxRecord);
  if (file.state == sys::FileState::lost) return std::unexpected(file.error);
  std::vector<Unit> units;
  std::istringstream lines(file.text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const std::string state = space == std::string::npos ? "" : line.substr(space + 1);
    bool known = false;
    for (const sys::TimeDaemon& daemon : sys::known_time_daemons())
      known = known || (daemon.unit == name && !name.empty());
    if (!known || (state != "active" && state != "inactive"))
      return std::unexpected(fmt::format(
          "{}: cannot read the line '{}'; unmask the units by hand with 'systemctl unmask' "
          "and remove the file",
          record_path(arguments), line.substr(0, 80)));
    units.push_back({.name = name, .active = state == "active"});
  }
  return units;
}

Result<void> write_record_of(const AdoptArguments& arguments, const std::vector<Unit>& units) {
  std::string text;
  for (const Unit& unit : units) text += unit.name + (unit.active ? " active\n" : " inactive\n");
  return sys::replace_file(record_path(arguments), text);
}

// Whether the user agrees. Unset: nobody can be asked.
std::optional<bool> agreed(const AdoptArguments& arguments, const std::string& question) {
  if (arguments.yes) return true;
  if (::isatty(STDIN_FILENO) == 0) return std::nullopt;
  print_error("{} [y/N] ", question);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int refuse_to_ask() {
  return print_error(kBadUsage,
                     "cannot ask without a terminal, so nothing was changed; add --yes to agree");
}

int failed(const std::string& words, const Ended& ended) {
  return print_error(
      kViolation,
      fmt::format(
          "'systemctl {}' failed{}{}; 'tempo adopt --undo' restores the time daemons that were "
          "stopped",
          words, ended.output.empty() ? "" : ": ", ended.output));
}

int check(const AdoptArguments& arguments) {
  const std::vector<Unit> units = units_in_use();
  const std::vector<std::string> programs = other_programs(units);
  if (arguments.json) {
    print_json(json_of(units, programs));
  } else {
    for (const Unit& unit : units) print("{}\n", list_of({unit}));
    for (const std::string& program : programs) print("{}\n", program);
    if (units.empty() && programs.empty()) print("no other time daemon is enabled or running\n");
  }
  return units.empty() && programs.empty() ? kDone : kViolation;
}

int undo(const AdoptArguments& arguments) {
  const auto units = read_record_of(arguments);
  if (!units) return print_error(kViolation, units.error());
  if (units->empty())
    return print_error(kViolation,
                       fmt::format("nothing to undo: {} does not exist", record_path(arguments)));
  const auto agrees =
      agreed(arguments, fmt::format("Stop and disable tempod, and restore {}?", list_of(*units)));
  if (!agrees) return refuse_to_ask();
  if (!*agrees) return kViolation;
  // tempod may have been removed already.
  systemctl(fmt::format("disable --now {}", kOurs));
  for (const Unit& unit : *units) {
    if (const Ended ended = systemctl("unmask " + unit.name); !ended.good)
      return failed("unmask " + unit.name, ended);
    if (!unit.active) continue;
    if (const Ended ended = systemctl("start " + unit.name); !ended.good)
      return failed("start " + unit.name, ended);
  }
  if (const auto removed = sys::remove_file(record_path(arguments)); !removed)
    return print_error(kViolation, removed.error());
  if (arguments.json)
    print_json(json_of(*units, {}));
  else
    print("restored {}; tempod is stopped and disabled\n", list_of(*units));
  return kDone;
}

int switch_to_tempod(const AdoptArguments& arguments) {
  const std::vector<Unit> units = units_in_use();
  if (const auto others = other_programs(units); !others.empty())
    return print_error(
        kViolation,
        fmt::format("{} steers the clock and is no service that tempo knows; stop it first",
                    others.front()));
  const auto agrees = agreed(
      arguments, units.empty() ? "Start tempod and enable it?"
                               : fmt::format("Stop and mask {}, then start tempod and enable it?",
                                             list_of(units)));
  if (!agrees) return refuse_to_ask();
  if (!*agrees) return kViolation;
  auto record = read_record_of(arguments);
  if (!record) return print_error(kViolation, record.error());
  for (const Unit& unit : units) {
    std::erase_if(*record, [&](const Unit& old) { return old.name == unit.name; });
    record->push_back(unit);
  }
  if (!units.empty())
    if (const auto written = write_record_of(arguments, *record); !written)
      return print_error(kViolation, written.error() + "; nothing was changed");
  for (const Unit& unit : units)
    for (const char* verb : {"stop ", "mask "})
      if (const Ended ended = systemctl(verb + unit.name); !ended.good)
        return failed(verb + unit.name, ended);
  if (const Ended ended = systemctl(fmt::format("enable --now {}", kOurs)); !ended.good)
    return failed(fmt::format("enable --now {}", kOurs), ended);
  if (arguments.json)
    print_json(json_of(units, {}));
  else
    print("{}tempod runs and is enabled{}\n",
          units.empty() ? "" : fmt::format("stopped and masked {}; ", list_of(units)),
          units.empty() ? "" : "; 'tempo adopt --undo' takes this back");
  return kDone;
}

}  // namespace

int adopt(const AdoptArguments& arguments) {
  if (arguments.check && arguments.undo)
    return print_error(kBadUsage, "--check and --undo exclude each other; give one of them");
  if (arguments.check) return check(arguments);
  if (::geteuid() != 0)
    return print_error(kRefused, "only root may switch time daemons; run 'sudo tempo adopt'");
  return arguments.undo ? undo(arguments) : switch_to_tempod(arguments);
}

}  // namespace tempo::cli
