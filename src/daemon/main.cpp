// tempod: the daemon. See man/tempod.8.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "api/settings.h"
#include "daemon/daemon_identity.h"
#include "daemon/log.h"
#include "daemon/parent.h"
#include "platform/directory_lock.h"
#include "platform/time_daemons.h"
#include "tempo_version.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr int kOtherTimeDaemon = 3;  // it would fight another program for the clock
// The worker of a daemon that was killed ends within this time.
constexpr tempo::Nanos kLockTimeout = std::chrono::seconds(2);

struct Flag {
  const char* flag;
  const char* key;
  const char* meaning;
};
// Options for the most common keys; --set sets any key.
constexpr Flag kFlags[] = {
    {"--cluster", "cluster", "cluster name; datagrams of other clusters are ignored"},
    {"--name", "name", "name announced to other members"},
    {"--profile", "profile", "timer profile: classic, lan or fast"},
    {"--port", "port", "UDP port"},
    {"--key-file", "key-file", "cluster key file, created by 'tempo keygen'"},
    {"--clock", "clock", "clock to steer: system, software or none"},
    {"--state-dir", "state-dir", "directory for state kept across restarts"},
    {"--socket", "socket", "path of the control socket"},
    {"--user", "user", "user to run as; empty: keep the current user"},
    {"--hook", "hook", "program to run on events"},
};

// Only one program may steer the clock. The answer is an error for users, or empty.
std::string other_time_daemon() {
  for (const tempo::sys::RunningTimeDaemon& other : tempo::sys::running_time_daemons("/proc"))
    if (other.steers_clock)
      return fmt::format(
          "{} (process {}) already steers the clock, and only one program may; {}, or set clock = "
          "\"none\": then "
          "tempod only measures",
          other.daemon.name, other.process,
          other.daemon.unit.empty() ? "stop it" : "switch with 'sudo tempo adopt'");
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "tempod: network time, master election, locks and groups for a network of machines.\n"
      "No configuration is required; tempo.toml(5) lists the keys."};
  std::string file = "/etc/tempo/tempo.toml";
  std::vector<std::string> changes;
  std::vector<std::string> values(std::size(kFlags));
  bool check_only = false;
  bool standalone = false;
  bool no_clock = false;
  auto* file_option =
      app.add_option("-c,--config", file, "configuration file")->capture_default_str();
  for (std::size_t i = 0; i < std::size(kFlags); ++i)
    app.add_option(kFlags[i].flag, values[i], kFlags[i].meaning);
  app.add_option("--set", changes, "set KEY=VALUE, any key of the configuration; repeatable");
  app.add_flag("--no-clock", no_clock, "measure only; same as --clock none");
  app.add_flag("--check-config", check_only,
               "check the configuration, report all errors, and exit");
  app.add_flag("--standalone", standalone,
               "run in one process without control socket and confinement, for simulators");
  app.set_version_flag("--version", version_line("tempod"));
  app.footer(
      "Exit status: 0 stopped on request, 1 failed, 2 invalid usage or configuration, 3 another "
      "program steers the\n"
      "clock.\n\n"
      "Examples:\n"
      "  tempod                                  run as the service does\n"
      "  tempod --check-config -c new.toml       report all errors in a file\n"
      "  tempod --no-clock --port 5250 --state-dir /tmp/t --socket /tmp/t/sock --set 'user=\"\"'");
  CLI11_PARSE(app, argc, argv);

  for (std::size_t i = 0; i < std::size(kFlags); ++i)
    if (app.count(kFlags[i].flag) > 0)
      changes.push_back(fmt::format("{}={}", kFlags[i].key, values[i]));
  if (no_clock) changes.emplace_back("clock=none");

  const auto read_settings = [&] {
    return tempo::config::load_settings(file, file_option->count() > 0, changes);
  };
  const auto settings = read_settings();
  if (!settings) {
    for (const tempo::config::Mistake& mistake : settings.error())
      fmt::print(stderr, "tempod: {}: {}\n", mistake.where, mistake.what);
    return kBadUsage;
  }
  if (check_only) {
    fmt::print("configuration OK\n");
    return 0;
  }
  tempo::daemon::open_log("tempod", tempo::daemon::is_journal(std::getenv("JOURNAL_STREAM")));
  tempo::daemon::set_log_level(settings->log_level);
  // A simulator runs tempod beside other daemons, each with a clock of its own.
  if (settings->clock == tempo::config::ClockKind::system && !standalone)
    if (const std::string other = other_time_daemon(); !other.empty()) {
      tempo::daemon::log_error(other);
      return kOtherTimeDaemon;
    }
  // Before anything else: a second daemon must not touch the state of the first.
  const auto lock = tempo::sys::lock_directory(settings->state_dir, kLockTimeout);
  if (!lock) {
    tempo::daemon::log_error(lock.error());
    return kFailed;
  }
  auto identity = tempo::daemon::load_identity(*settings);
  if (!identity) {
    tempo::daemon::log_error(identity.error());
    return kFailed;
  }
  if (settings->mode == tempo::config::Mode::classic && !identity->keys.empty()) {
    tempo::daemon::log_error(fmt::format(
        "mode = \"classic\" and the key in {} exclude each other: TSP has no authentication, so a "
        "key would protect nothing; set key-file = \"\", or mode = \"tempo\"",
        settings->key_file));
    return kBadUsage;
  }
  if (settings->mode == tempo::config::Mode::classic && standalone) {
    tempo::daemon::log_error("--standalone and mode = \"classic\" exclude each other; remove one");
    return kBadUsage;
  }
  std::error_code ignored;
  identity->configuration = std::filesystem::exists(file, ignored)
                                ? fmt::format("configuration {}", file)
                                : fmt::format("no configuration file ({} does not exist)", file);
  return standalone ? tempo::daemon::run_standalone(std::move(*identity))
                    : tempo::daemon::run_with_parent(std::move(*identity), read_settings);
}
