// tempo-etcd: keeps the locks of tempod in etcd. See man/tempod.8.
#include <csignal>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <unistd.h>

#include "api/settings.h"
#include "platform/confinement.h"
#include "platform/host.h"
#include "services/etcd/bridge.h"
#include "tempo_version.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

volatile int g_stop = 0;

int fail(int code, const std::string& sentence) {
  fmt::print(stderr, "tempo-etcd: {}\n", sentence);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "tempo-etcd: keeps the locks of tempod in etcd.\n"
      "It reads the configuration of tempod, which must have back-end = \"etcd\" under [locks]."};
  std::string file = "/etc/tempo/tempo.toml";
  std::vector<std::string> changes;
  auto* file_option =
      app.add_option("-c,--config", file, "configuration file")->capture_default_str();
  app.add_option("--set", changes, "set KEY=VALUE, any key of the configuration; repeatable");
  app.set_version_flag("--version", version_line("tempo-etcd"));
  app.footer(
      "Exit status: 0 stopped on request, 1 failed, 2 invalid usage or configuration.\n\n"
      "Examples:\n"
      "  tempo-etcd                              run as the service does, beside tempod\n"
      "  tempo-etcd --set 'locks.etcd-endpoints=[\"http://10.0.0.1:2379\"]'");
  CLI11_PARSE(app, argc, argv);

  const auto settings = tempo::config::load_settings(file, file_option->count() > 0, changes);
  if (!settings) {
    for (const tempo::config::Mistake& mistake : settings.error())
      fail(kBadUsage, fmt::format("{}: {}", mistake.where, mistake.what));
    return kBadUsage;
  }
  if (settings->lock_back_end != tempo::config::LockBackEnd::etcd)
    return fail(kBadUsage,
                "the configuration does not use etcd; set back-end = \"etcd\" under [locks]");
  struct sigaction action{};
  action.sa_handler = [](int signal) { g_stop = signal; };
  for (const int signal : {SIGTERM, SIGINT}) sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  auto bridge = tempo::etcd::Bridge::open(
      {.socket = settings->etcd_socket,
       .cluster = settings->cluster,
       .host = settings->name.empty() ? tempo::sys::host_name() : settings->name,
       .lease = settings->lock_lease,
       .endpoints = settings->etcd_endpoints,
       .ca_file = settings->etcd_ca_file,
       .cert_file = settings->etcd_cert_file,
       .key_file = settings->etcd_key_file});
  if (!bridge) return fail(kFailed, bridge.error());
  if (geteuid() == 0)
    if (const auto dropped = tempo::sys::drop_privileges(
            {.user = settings->user, .set_clock = false, .bind_low_port = false});
        !dropped)
      return fail(kFailed, dropped.error());
  if (settings->system_call_filter)
    if (const auto filtered = tempo::sys::filter_system_calls({.http_client = true}); !filtered)
      return fail(kFailed, filtered.error() +
                               "; set system-call-filter = false to run without it on this kernel");
  (*bridge)->run(g_stop);
  return 0;
}
