// tempo-ntp: serves network time to NTP clients. See man/tempo-ntp.8.
#include <csignal>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <unistd.h>

#include "api/page_file.h"
#include "api/settings.h"
#include "platform/confinement.h"
#include "services/ntp/service.h"
#include "tempo_version.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

volatile int g_stop = 0;

int fail(int code, const std::string& sentence) {
  fmt::print(stderr, "tempo-ntp: {}\n", sentence);
  return code;
}

tempo::Result<tempo::ntp::Service::Options> options_of(const tempo::config::Settings& settings) {
  tempo::ntp::Service::Options options{
      .listen = {},
      .port = settings.ntp_port,
      .page = tempo::page::path_for(settings.socket),
      .claims_limit = settings.claims_limit,
      .reference_id = tempo::ntp::reference_id_of(settings.cluster),
      .upstream = {}};
  if (options.page.empty())
    return std::unexpected(
        "the abstract socket of tempod has no time page; set socket to a path in tempo.toml");
  options.serve = settings.ntp_serve;
  options.upstream.feed = settings.ntp_feed;
  options.upstream.reference_id = options.reference_id;
  for (const tempo::config::UtcSourceSettings& source : settings.utc_sources)
    if (source.path == settings.ntp_feed) options.upstream.feed_error = source.error;
  for (const std::string& text : settings.ntp_servers) {
    TRY(address, tempo::sys::Address::parse(text, tempo::ntp::kPort));
    options.upstream.servers.push_back(address);
  }
  for (const std::string& text : settings.ntp_listen) {
    TRY(address, tempo::sys::Address::parse(text, settings.ntp_port));
    options.listen.push_back(address);
  }
  return options;
}

// The sockets are open by now, so no capability is left to need.
tempo::Result<void> confine(const tempo::config::Settings& settings) {
  const std::string user = geteuid() == 0 ? settings.user : "";
  auto dropped =
      tempo::sys::drop_privileges({.user = user, .set_clock = false, .bind_low_port = false});
  if (!dropped || !settings.system_call_filter) return dropped;
  auto filtered = tempo::sys::filter_system_calls({});
  if (filtered) return filtered;
  return std::unexpected(filtered.error() +
                         "; set system-call-filter = false to run without it on this kernel");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "tempo-ntp: serves network time to NTP and SNTP clients.\n"
      "It reads the configuration of tempod, and the time page of the tempod on this machine."};
  std::string file = "/etc/tempo/tempo.toml";
  std::vector<std::string> changes;
  bool check = false;
  auto* file_option =
      app.add_option("-c,--config", file, "configuration file")->capture_default_str();
  app.add_option("--set", changes, "set KEY=VALUE, any key of the configuration; repeatable");
  app.add_flag("--check", check, "print what a client would get now, and exit");
  app.set_version_flag("--version", version_line("tempo-ntp"));
  app.footer(
      "Exit status: 0 stopped on request, 1 failed, 2 invalid usage or configuration.\n"
      "With --check: 0 synchronized, 1 not synchronized.\n\n"
      "Examples:\n"
      "  tempo-ntp                     run as the service does, beside tempod\n"
      "  tempo-ntp --check             what would a client get now?\n"
      "  tempo-ntp --set ntp.port=1123 --set ntp.listen=127.0.0.1");
  CLI11_PARSE(app, argc, argv);

  const auto settings = tempo::config::load_settings(file, file_option->count() > 0, changes);
  if (!settings) {
    for (const tempo::config::Mistake& mistake : settings.error())
      fail(kBadUsage, fmt::format("{}: {}", mistake.where, mistake.what));
    return kBadUsage;
  }
  const auto options = options_of(*settings);
  if (!options) return fail(kBadUsage, options.error());
  if (check) {
    const tempo::ntp::Preview preview = tempo::ntp::preview(*options);
    fmt::print("{}", preview.text);
    return preview.synchronized ? 0 : kFailed;
  }
  struct sigaction action{};
  action.sa_handler = [](int signal) { g_stop = signal; };
  for (const int signal : {SIGTERM, SIGINT}) sigaction(signal, &action, nullptr);
  const auto service = tempo::ntp::Service::open(*options);
  if (!service) return fail(kFailed, service.error());
  if (const auto confined = confine(*settings); !confined) return fail(kFailed, confined.error());
  (*service)->run(g_stop);
  return 0;
}
