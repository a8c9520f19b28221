#include "cli/operations/doctor_checks.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/core.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/finding_codes.h"
#include "platform/time_daemons.h"
#include "protocol/auth/keyring.h"

namespace tempo::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxProcesses = 100'000;
constexpr std::size_t kMaxKeyFile = 65536;

ipc::Finding ok(std::string what) { return {"ok", std::move(what), ""}; }
ipc::Finding note(ipc::FindingCode code, std::string what, std::string cure) {
  return {"note", std::move(what), std::move(cure), std::string(name_of(code)), ""};
}
ipc::Finding problem(ipc::FindingCode code, std::string what, std::string cure) {
  return {"problem", std::move(what), std::move(cure), std::string(name_of(code)), ""};
}

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::vector<fs::path> entries(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    found.push_back(at->path());
    if (found.size() == kMaxProcesses) break;
  }
  std::ranges::sort(found);
  return found;
}

unsigned hexadecimal(std::string_view text) {
  unsigned value = 0;
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

}  // namespace

Findings rival_findings(const std::string& proc, const config::Settings& settings) {
  const bool steers = settings.clock == config::ClockKind::system;
  Findings findings;
  for (const sys::RunningTimeDaemon& running : sys::running_time_daemons(proc)) {
    if (steers && running.steers_clock)
      findings.push_back(problem(ipc::FindingCode::second_time_daemon,
                                 fmt::format("{} (process {}) also steers the clock",
                                             running.daemon.name, running.process),
                                 running.daemon.unit.empty()
                                     ? "stop it, or set clock = \"none\": then tempod only measures"
                                     : "switch with 'sudo tempo adopt', or set clock = \"none\": "
                                       "then tempod only measures"));
    else if (running.steers_clock)
      findings.push_back(ok(fmt::format("{} (process {}) steers the clock; tempod does not",
                                        running.daemon.name, running.process)));
  }
  if (findings.empty() && settings.trusted)
    findings.push_back(problem(
        ipc::FindingCode::second_time_daemon,
        "this machine is configured as trusted, but no known program synchronizes its clock",
        "start chronyd or phc2sys"));
  else if (findings.empty())
    findings.push_back(ok("no other program steers the clock"));
  return findings;
}

std::vector<std::string> broadcast_interfaces(const std::string& sys) {
  std::vector<std::string> names;
  for (const fs::path& interface : entries(fs::path(sys) / "class/net")) {
    const unsigned flags = hexadecimal(first_line(interface / "flags"));
    if ((flags & IFF_UP) != 0 && (flags & IFF_BROADCAST) != 0 && (flags & IFF_LOOPBACK) == 0)
      names.push_back(interface.filename());
  }
  return names;
}

Findings interface_findings(const std::string& sys, const config::Settings& settings) {
  if (!settings.bind.empty() || !settings.peers.empty())
    return {ok("the configuration lists peers or addresses; interfaces are not checked")};
  const auto usable = broadcast_interfaces(sys);
  Findings findings;
  for (const std::string& name : settings.interfaces) {
    if (std::ranges::find(usable, name) != usable.end()) continue;
    std::error_code error;
    if (fs::exists(fs::path(sys) / "class/net" / name, error))
      findings.push_back(problem(ipc::FindingCode::interface_down,
                                 fmt::format("interface {} is down or cannot broadcast", name),
                                 fmt::format("bring it up with 'ip link set {} up'", name)));
    else
      findings.push_back(problem(
          ipc::FindingCode::interface_down, fmt::format("interface {} does not exist", name),
          "'ip link' lists the interfaces; correct 'interfaces' in tempo.toml"));
  }
  const auto has_link = [&](const std::string& name) {
    const std::string state = first_line(fs::path(sys) / "class/net" / name / "operstate");
    return state != "down" && state != "lowerlayerdown";
  };
  std::vector<std::string> used = usable;
  if (!settings.interfaces.empty())
    std::erase_if(used, [&](const std::string& name) {
      return std::ranges::count(settings.interfaces, name) == 0;
    });
  const bool any_link = std::ranges::any_of(used, has_link);
  for (const std::string& name : used) {
    if (has_link(name)) {
      findings.push_back(ok(fmt::format("interface {} is up and can broadcast", name)));
      continue;
    }
    // An interface without a cable beside one with a cable is usual.
    const std::string what = fmt::format("interface {} is up but has no link", name);
    const std::string cure = "check the cable and the switch";
    findings.push_back(any_link ? note(ipc::FindingCode::no_carrier, what, cure)
                                : problem(ipc::FindingCode::no_carrier, what, cure));
  }
  if (findings.empty())
    findings.push_back(
        problem(ipc::FindingCode::no_network, "no interface that can broadcast is up",
                "bring one up with 'ip link set NAME up', or list the other machines as 'peers' in "
                "tempo.toml"));
  return findings;
}

Findings port_findings(const std::string& proc, std::uint16_t port, bool ours) {
  bool taken = false;
  for (const char* table : {"net/udp", "net/udp6"}) {
    std::ifstream in(fs::path(proc) / table);
    for (std::string line; std::getline(in, line);) {
      // "  12: 00000000:020D 00000000:0000 07 ...": the local address is the second word.
      std::istringstream words(line);
      std::string number, local;
      words >> number >> local;
      const std::size_t colon = local.rfind(':');
      if (colon != std::string::npos && number.ends_with(':'))
        taken = taken || hexadecimal(std::string_view(local).substr(colon + 1)) == port;
    }
  }
  if (ours && taken) return {ok(fmt::format("UDP port {} is open", port))};
  if (ours)
    return {problem(
        ipc::FindingCode::port, fmt::format("tempod runs, but UDP port {} is not open", port),
        "see 'journalctl -u tempod'; restart tempod if 'port' in tempo.toml has changed")};
  if (taken)
    return {problem(ipc::FindingCode::port, fmt::format("another program uses UDP port {}", port),
                    fmt::format("find it with 'ss -ulpn sport = :{}' and stop it, or set another "
                                "port in tempo.toml on every machine",
                                port))};
  return {ok(fmt::format("UDP port {} is free", port))};
}

Findings firewall_findings(std::string_view ruleset, std::uint16_t port) {
  const auto has = [&](std::string_view text) {
    return ruleset.find(text) != std::string_view::npos;
  };
  if (!has("hook input") && !has("hook output")) return {ok("no firewall rules (nft)")};
  if (!has("drop") && !has("reject")) return {ok("the firewall (nft) drops nothing")};
  if (has(fmt::format("dport {}", port)))
    return {ok(fmt::format("the firewall (nft) has a rule for UDP port {}", port))};
  return {
      note(ipc::FindingCode::firewall,
           fmt::format("a firewall (nft) drops packets and has no rule for UDP port {}", port),
           fmt::format("accept it: 'nft insert rule inet filter input udp dport {} accept', with "
                       "the names of your table and chain",
                       port))};
}

Findings key_findings(const config::Settings& settings) {
  struct stat status{};
  const std::string& path = settings.key_file;
  if (stat(path.c_str(), &status) != 0) {
    const int error = errno;
    if (error == EACCES)
      return {note(ipc::FindingCode::no_permission,
                   fmt::format("no permission to see the key file {}", path),
                   "run doctor as root")};
    if (settings.key_file_given)
      return {problem(
          ipc::FindingCode::key_file,
          fmt::format("the key file {} is missing ({})", path, std::strerror(error)),
          fmt::format("copy it from another machine, or write one with 'tempo keygen {}'", path))};
    return {
        note(ipc::FindingCode::no_key, "no key: any machine on this network can set the time",
             fmt::format("write one with 'tempo keygen {}' and copy it to every machine", path))};
  }
  Findings findings;
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    findings.push_back(
        problem(ipc::FindingCode::key_file,
                fmt::format("other users can read the key file {} (mode {:04o})", path,
                            status.st_mode & 07777U),
                fmt::format("run 'chmod 600 {}'; write a new key if another user may have read "
                            "this one",
                            path)));
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    findings.push_back(note(ipc::FindingCode::no_permission,
                            fmt::format("no permission to read the key file {}", path),
                            "run doctor as root"));
    return findings;
  }
  std::string text;
  for (char c = 0; text.size() <= kMaxKeyFile && in.get(c);) text += c;
  const auto lines = auth::parse_keys(text);
  if (!lines) {
    findings.push_back(problem(ipc::FindingCode::key_file,
                               fmt::format("the key file {} is invalid: {}", path, lines.error()),
                               fmt::format("copy it from another machine, or write a new one with "
                                           "'tempo keygen --force {}'",
                                           path)));
    return findings;
  }
  const auth::Keyring keys(*lines);
  if (keys.accepts_unsealed())
    findings.push_back(problem(
        ipc::FindingCode::key_file,
        fmt::format("the key file {} accepts datagrams without a key: any machine on this network "
                    "can set the time",
                    path),
        fmt::format("finish the introduction of key {} with 'tempo keygen {}' on every machine",
                    auth::key_name_of(keys.sealing_id() == 0 ? keys.other_id() : keys.sealing_id()),
                    keys.sealing_id() == 0 ? "--promote" : "--drop")));
  else if (findings.empty())
    findings.push_back(ok(fmt::format("the key file {} has {} key{}; only its owner can read it",
                                      path, keys.size(), keys.size() == 1 ? "" : "s")));
  return findings;
}

Findings stamp_findings(const std::string& interface) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return {};
  ethtool_ts_info info{};
  info.cmd = ETHTOOL_GET_TS_INFO;
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&info);
  const bool known = ioctl(socket, SIOCETHTOOL, &request) == 0;
  close(socket);
  if (!known)
    return {note(
        ipc::FindingCode::no_timestamps,
        fmt::format("interface {} does not report its timestamping capabilities", interface),
        "without kernel timestamps tempod takes them itself; 'tempo status' shows which it uses")};
  const bool software = (info.so_timestamping & SOF_TIMESTAMPING_TX_SOFTWARE) != 0;
  const bool hardware = (info.so_timestamping & SOF_TIMESTAMPING_TX_HARDWARE) != 0;
  if (hardware) return {ok(fmt::format("interface {} has hardware timestamps", interface))};
  if (software) return {ok(fmt::format("interface {} has kernel timestamps", interface))};
  return {
      note(ipc::FindingCode::no_timestamps,
           fmt::format("the driver of interface {} does not timestamp sent datagrams", interface),
           "expect a few microseconds of additional error; use another card or driver")};
}

}  // namespace tempo::cli
