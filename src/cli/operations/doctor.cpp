#include "cli/operations/doctor.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "api/settings.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "cli/operations/doctor_checks.h"

namespace tempo::cli {
namespace {

constexpr const char* kNft = "/usr/sbin/nft";
constexpr std::size_t kMaxRules = 1U << 20;

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
    return {{"note", "only root can read the firewall rules", "run 'sudo tempo doctor'"}};
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
    return {{"problem", fmt::format("{}: does not answer", member.name),
             "check that tempod runs there with the same key and cluster"}};
  Findings findings;
  for (const ipc::Finding& finding : member.findings)
    findings.push_back(
        {finding.level, fmt::format("{}: {}", member.name, finding.what), finding.cure});
  if (member.missing > 0)
    findings.push_back({"note",
                        fmt::format("{}: {} finding{} lost", member.name, member.missing,
                                    member.missing == 1 ? "" : "s"),
                        "run 'tempo doctor --all' again"});
  if (findings.empty())
    findings.push_back({"ok", fmt::format("{}: no problems found", member.name), ""});
  return findings;
}

// Findings of tempod and of the other members. Sets `running` if tempod answers.
Findings daemon_findings(const DoctorArguments& all_arguments, Nanos timeout, bool& running) {
  const DaemonArguments& arguments = all_arguments.daemon;
  auto client = client::Client::connect(arguments.socket, timeout);
  if (!client) return {{"problem", client.error().message, ""}};
  ipc::Request request = request_of(ipc::Verb::doctor);
  request.all = all_arguments.all;
  const auto own = client->ask(request);
  if (!own) return {{"problem", own.error().message, ""}};
  running = true;
  Findings findings{{"ok", fmt::format("tempod answers at {}", arguments.socket), ""}};
  if (const auto more = ipc::findings_of(*own)) append(findings, *more);
  if (const auto members = ipc::members_findings_of(*own); members && all_arguments.all)
    for (const ipc::MemberFindings& member : *members) append(findings, member_findings(member));
  return findings;
}

}  // namespace

int doctor(const DoctorArguments& arguments) {
  const auto timeout = span_of(arguments.daemon.timeout, "--timeout");
  if (!timeout) return timeout.error();

  Findings findings;
  const auto loaded = config::load_settings(arguments.config, false, {});
  if (!loaded)
    for (const config::Mistake& mistake : loaded.error())
      findings.push_back({"problem", mistake.where + ": " + mistake.what,
                          "correct it and run 'tempod --check-config'"});
  const config::Settings settings = loaded.value_or(config::Settings{});
  bool running = false;
  append(findings, daemon_findings(arguments, *timeout, running));
  append(findings, rival_findings("/proc", settings));
  append(findings, interface_findings("/sys", settings));
  for (const std::string& name : broadcast_interfaces("/sys"))
    if (settings.interfaces.empty() || std::ranges::count(settings.interfaces, name) > 0)
      append(findings, stamp_findings(name));
  append(findings, port_findings("/proc", settings.port, running));
  append(findings, firewall_here(settings.port));
  append(findings, key_findings(settings));

  std::size_t problems = 0;
  Json list = Json::array();
  for (const ipc::Finding& finding : findings) {
    problems += finding.level == "problem" ? 1U : 0U;
    list.push(Json::object()
                  .add("level", finding.level)
                  .add("what", finding.what)
                  .add("cure", finding.cure));
    if (!arguments.daemon.json)
      print("{} {}{}\n", level_text(finding.level), finding.what,
            finding.cure.empty() ? "" : "\n         -> " + finding.cure);
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
