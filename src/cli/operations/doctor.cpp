#include "cli/operations/doctor.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "api/finding_codes.h"
#include "api/settings.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "cli/operations/doctor_checks.h"

namespace tempo::cli {
namespace {

using ipc::FindingCode;

constexpr const char* kNft = "/usr/sbin/nft";
constexpr std::size_t kMaxRules = 1U << 20;

ipc::Finding finding(const char* level, FindingCode code, std::string what, std::string cure) {
  return {level, std::move(what), std::move(cure), std::string(name_of(code)), ""};
}

// The level, 8 columns wide, coloured on a terminal.
std::string level_text(const std::string& level) {
  const std::string text = fmt::format("{:<8}", level);
  if (level == "problem") return colored(text, Color::red);
  return colored(text, level == "ok" ? Color::green : Color::yellow);
}

void append(Findings& all, const Findings& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Findings firewall_here(std::uint16_t port) {
  if (access(kNft, X_OK) != 0) return {};
  if (geteuid() != 0)
    return {finding("note", FindingCode::no_permission, "only root can read the firewall rules",
                    "run 'sudo tempo doctor'")};
  std::FILE* pipe = popen("/usr/sbin/nft list ruleset 2>/dev/null", "r");
  if (pipe == nullptr) return {};
  std::string rules;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 1; got > 0 && rules.size() < kMaxRules;) {
    got = std::fread(buffer.data(), 1, buffer.size(), pipe);
    rules.append(buffer.data(), got);
  }
  pclose(pipe);
  return firewall_findings(rules, port);
}

// The findings of a member, each with the member's name.
Findings member_findings(const ipc::MemberFindings& member) {
  if (!member.answered)
    return {finding("problem", FindingCode::no_answer,
                    fmt::format("{}: does not answer", member.name),
                    "check that tempod runs there with the same key and cluster")};
  Findings findings;
  for (ipc::Finding found : member.findings) {
    found.what = fmt::format("{}: {}", member.name, found.what);
    findings.push_back(std::move(found));
  }
  if (member.missing > 0)
    findings.push_back(finding("note", FindingCode::findings_lost,
                               fmt::format("{}: {} finding{} lost", member.name, member.missing,
                                           member.missing == 1 ? "" : "s"),
                               "run 'tempo doctor --all' again"));
  if (findings.empty())
    findings.push_back({"ok", fmt::format("{}: no problems found", member.name), ""});
  return findings;
}

// Findings of tempod and of the other members. Sets `running` if tempod answers.
Findings daemon_findings(const DoctorArguments& all_arguments, Nanos timeout, bool& running) {
  const DaemonArguments& arguments = all_arguments.daemon;
  auto client = client::Client::connect(arguments.socket, timeout);
  const auto silent = [](const std::string& message) {
    return Findings{finding("problem", FindingCode::tempod_silent, message,
                            "start it with 'systemctl start tempod'; if it does not start, see "
                            "'journalctl -u tempod'")};
  };
  if (!client) return silent(client.error().message);
  ipc::Request request = request_of(ipc::Verb::doctor);
  request.all = all_arguments.all;
  request.host = arguments.host;
  const auto own = client->ask(request);
  if (!own && !arguments.host.empty())
    return {finding("problem", FindingCode::no_answer, own.error().message,
                    "check the key, and 'remote-read' in tempo.toml on that machine")};
  if (!own) return silent(own.error().message);
  running = true;
  Findings findings{{"ok",
                     fmt::format("tempod answers at {}",
                                 arguments.host.empty() ? arguments.socket : arguments.host),
                     ""}};
  if (const auto more = ipc::findings_of(*own)) append(findings, *more);
  if (const auto members = ipc::members_findings_of(*own); members && all_arguments.all)
    for (const ipc::MemberFindings& member : *members) append(findings, member_findings(member));
  return findings;
}

// What this program sees itself.
Findings local_findings(const config::Settings& settings, bool running) {
  Findings findings = rival_findings("/proc", settings);
  append(findings, interface_findings("/sys", settings));
  for (const std::string& name : broadcast_interfaces("/sys"))
    if (settings.interfaces.empty() || std::ranges::count(settings.interfaces, name) > 0)
      append(findings, stamp_findings(name));
  append(findings, port_findings("/proc", settings.port, running));
  append(findings, firewall_here(settings.port));
  append(findings, key_findings(settings));
  return findings;
}

// Leaves out what tempod has already said. A firewall is the likely cause if no member is heard.
void append_local(Findings& all, const Findings& local) {
  const auto has = [&](FindingCode code) {
    return std::ranges::count(all, name_of(code), &ipc::Finding::code) > 0;
  };
  const bool unheard = has(FindingCode::alone) || has(FindingCode::cut_off);
  const bool no_key = has(FindingCode::no_key);
  for (ipc::Finding found : local) {
    if (no_key && found.code == name_of(FindingCode::no_key)) continue;
    if (unheard && found.code == name_of(FindingCode::firewall)) found.level = "problem";
    all.push_back(std::move(found));
  }
}

void print_finding(const ipc::Finding& found) {
  print("{} {}{}\n", level_text(found.level), found.code.empty() ? "" : found.code + ' ',
        found.what);
  if (!found.evidence.empty()) print("         {}\n", found.evidence);
  if (!found.cure.empty()) print("         -> {}\n", found.cure);
}

}  // namespace

int doctor(const DoctorArguments& arguments) {
  const auto timeout = span_of(arguments.daemon.timeout, "--timeout");
  if (!timeout) return timeout.error();

  Findings findings;
  const auto loaded = config::load_settings(arguments.config, false, {});
  if (!loaded && arguments.daemon.host.empty())
    for (const config::Mistake& mistake : loaded.error())
      findings.push_back(finding("problem", FindingCode::bad_configuration,
                                 mistake.where + ": " + mistake.what,
                                 "correct it and run 'tempod --check-config'"));
  const config::Settings settings = loaded.value_or(config::Settings{});
  bool running = false;
  append(findings, daemon_findings(arguments, *timeout, running));
  // The local checks are about this machine.
  if (arguments.daemon.host.empty()) append_local(findings, local_findings(settings, running));

  std::size_t problems = 0;
  Json list = Json::array();
  for (const ipc::Finding& found : findings) {
    problems += found.level == "problem" ? 1U : 0U;
    list.push(Json::object()
                  .add("level", found.level)
                  .add("code", found.code)
                  .add("what", found.what)
                  .add("evidence", found.evidence)
                  .add("cure", found.cure));
    if (!arguments.daemon.json) print_finding(found);
  }
  if (arguments.daemon.json)
    print_json(list);
  else if (problems == 0)
    print("\nNo problems found.\n");
  else
    print("\n{} problem{} found.\n", problems, problems == 1 ? "" : "s");
  return problems == 0 ? kDone : kViolation;
}

}  // namespace tempo::cli
