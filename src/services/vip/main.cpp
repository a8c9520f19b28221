// tempo-vip: an address that moves with the leader of a group. See man/tempo-vip.8.
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "api/settings.h"
#include "base/span_text.h"
#include "platform/confinement.h"
#include "platform/unix_socket.h"
#include "services/vip/service.h"
#include "services/vip/status.h"
#include "tempo_version.h"

namespace {

using tempo::Result;
namespace vip = tempo::vip;

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr int kAnswerTimeoutMs = 5000;

volatile int g_stop = 0;

int fail(int code, const std::string& sentence) {
  fmt::print(stderr, "tempo-vip: {}\n", sentence);
  return code;
}

struct Arguments {
  std::string config = "/etc/tempo/tempo.toml";
  bool config_given = false;
  std::vector<std::string> changes;
  std::string user = "tempo-vip";
  bool check_config = false;
  // One group by hand.
  std::vector<std::string> addresses;
  std::string interface;
  std::string group;
  std::int64_t weight = 0;
  std::string min_stay = "30s";
  int announcements = 5;
  std::string check;
  // status, suspend, resume
  bool json = false;
};

Result<std::vector<vip::AddressPrefix>> addresses_of(const std::vector<std::string>& texts) {
  std::vector<vip::AddressPrefix> addresses;
  for (const std::string& text : texts) {
    TRY(address, vip::AddressPrefix::parse(text));
    addresses.push_back(address);
  }
  return addresses;
}

Result<std::vector<vip::GroupOptions>> groups_of(const tempo::config::Settings& settings,
                                                 const Arguments& arguments) {
  std::vector<vip::GroupOptions> groups;
  if (!arguments.addresses.empty()) {
    if (arguments.interface.empty() || arguments.group.empty())
      return std::unexpected("an address needs --dev INTERFACE and --group NAME");
    TRY(addresses, addresses_of(arguments.addresses));
    TRY(min_stay, tempo::parse_span(arguments.min_stay));
    groups.push_back({.group = arguments.group,
                      .interface = arguments.interface,
                      .addresses = std::move(addresses),
                      .weight = arguments.weight,
                      .min_stay = min_stay,
                      .announcements = arguments.announcements,
                      .check = arguments.check});
    return groups;
  }
  for (const tempo::config::VipSettings& one : settings.vips) {
    TRY(addresses, addresses_of(one.addresses));
    groups.push_back({.group = one.group,
                      .interface = one.interface,
                      .addresses = std::move(addresses),
                      .weight = one.weight,
                      .min_stay = one.min_stay,
                      .announcements = one.announcements,
                      .check = one.check,
                      .check_interval = one.check_interval});
  }
  if (groups.empty())
    return std::unexpected(
        "no address is configured; add a table [[vip]] to tempo.toml, or give ADDRESS/PREFIX, "
        "--dev and --group");
  return groups;
}

// Packet sockets are open by now, so CAP_NET_RAW is not needed any more.
Result<void> confine(const tempo::config::Settings& settings, const std::string& user) {
  auto dropped = tempo::sys::drop_privileges({.user = geteuid() == 0 ? user : "",
                                              .set_clock = false,
                                              .bind_low_port = false,
                                              .administer_network = true});
  if (!dropped || !settings.system_call_filter) return dropped;
  auto filtered = tempo::sys::filter_system_calls({.connects = true});
  if (filtered) return filtered;
  return std::unexpected(filtered.error() +
                         "; set system-call-filter = false to run without it on this kernel");
}

int serve(const Arguments& arguments) {
  const auto settings =
      tempo::config::load_settings(arguments.config, arguments.config_given, arguments.changes);
  if (!settings) {
    for (const tempo::config::Mistake& mistake : settings.error())
      fail(kBadUsage, fmt::format("{}: {}", mistake.where, mistake.what));
    return kBadUsage;
  }
  const auto groups = groups_of(*settings, arguments);
  if (!groups) return fail(kBadUsage, groups.error());
  if (arguments.check_config) return 0;
  if (geteuid() == 0 && !arguments.user.empty() && !tempo::sys::user_id(arguments.user))
    return fail(kFailed, fmt::format("user '{0}' does not exist; create it (systemd-sysusers), or "
                                     "give another one with --user",
                                     arguments.user));
  struct sigaction action{};
  action.sa_handler = [](int signal) { g_stop = signal; };
  for (const int signal : {SIGTERM, SIGINT}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  const auto service = vip::Service::open({.groups = *groups,
                                           .tempod = settings->socket,
                                           .user = geteuid() == 0 ? arguments.user : ""});
  if (!service) return fail(kFailed, service.error());
  if (const auto confined = confine(*settings, arguments.user); !confined)
    return fail(kFailed, confined.error());
  (*service)->run(g_stop);
  return 0;
}

Result<std::string> ask(vip::Request request) {
  auto socket = tempo::sys::connect_unix(vip::kSocket);
  if (!socket)
    return std::unexpected(
        "tempo-vip does not run in this network namespace; start it with 'systemctl start "
        "tempo-vip'");
  tempo::sys::LineConnection connection(*std::move(socket));
  connection.write(vip::request_line(request));
  while (!connection.broken()) {
    if (auto line = connection.line()) return *std::move(line);
    pollfd end{.fd = connection.descriptor(), .events = POLLIN, .revents = 0};
    if (connection.finished() || poll(&end, 1, kAnswerTimeoutMs) <= 0) break;
  }
  return std::unexpected("tempo-vip does not answer; see 'systemctl status tempo-vip'");
}

int command(vip::Request request, bool json) {
  const auto line = ask(request);
  if (!line) return fail(kFailed, line.error());
  const auto data = vip::data_in(*line);
  if (json) fmt::print("{}\n", *line);
  if (!data) return json ? kFailed : fail(kFailed, data.error());
  if (!json && request == vip::Request::status) fmt::print("{}", vip::status_text(*data));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "tempo-vip: keeps addresses on the leader of a group, on one machine at any time.\n"
      "It serves the tables [[vip]] of tempo.toml, or one group given by hand."};
  Arguments arguments;
  auto* config =
      app.add_option("-c,--config", arguments.config, "configuration file")->capture_default_str();
  app.add_option("--set", arguments.changes,
                 "set KEY=VALUE, any key of the configuration; "
                 "repeatable");
  app.add_option("--user", arguments.user, "user to run as when started as root; \"\": root")
      ->capture_default_str();
  app.add_flag("--check-config", arguments.check_config, "check the configuration and exit");
  app.add_option("address", arguments.addresses,
                 "ADDRESS/PREFIX, IPv4 or IPv6; several move together");
  app.add_option("--dev", arguments.interface, "network interface that gets the addresses");
  app.add_option("--group", arguments.group, "group whose leader has them");
  app.add_option("--weight", arguments.weight,
                 "of this machine as a candidate; the largest of all machines wins")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--min-stay", arguments.min_stay,
                 "the addresses stay at least this long before a machine with a larger weight "
                 "gets them")
      ->capture_default_str();
  app.add_option("--garp", arguments.announcements,
                 "announcements to neighbours after a take-over, over three seconds")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--check", arguments.check,
                 "command; while it fails, this machine gives the addresses up");
  app.set_version_flag("--version", version_line("tempo-vip"));
  const auto add = [&](const char* name, const char* help) {
    CLI::App* const added = app.add_subcommand(name, help);
    added->add_flag("--json", arguments.json, "print JSON");
    return added;
  };
  CLI::App* const status = add("status",
                               "show the addresses, the machines that have them, and "
                               "how that is enforced");
  CLI::App* const suspend = add("suspend",
                                "give all addresses up until 'resume'; for the unit "
                                "that runs before this machine is suspended");
  CLI::App* const resume = add("resume", "be a candidate again");
  app.footer(
      "Exit status: 0 stopped on request or done, 1 failed, 2 invalid usage or configuration.\n\n"
      "Examples:\n"
      "  tempo-vip                                        run as the service does\n"
      "  tempo-vip 192.0.2.10/24 --dev eth0 --group web --check 'curl -fs localhost'\n"
      "  tempo vip status");
  CLI11_PARSE(app, argc, argv);
  arguments.config_given = config->count() > 0;
  if (*status) return command(vip::Request::status, arguments.json);
  if (*suspend) return command(vip::Request::suspend, arguments.json);
  if (*resume) return command(vip::Request::resume, arguments.json);
  return serve(arguments);
}
