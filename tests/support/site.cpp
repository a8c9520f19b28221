#include "support/site.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/control_protocol.h"
#include "client/client.h"

namespace tempo::testbed {
namespace {

constexpr std::uint16_t kPort = 525;
constexpr auto kTimeout = 2s;

void run_or_throw(const std::vector<std::string>& arguments) {
  if (run(arguments) == 0) return;
  std::string text;
  for (const std::string& argument : arguments) text += argument + ' ';
  throw std::runtime_error("command failed: " + text);
}

pid_t spawn(const std::vector<std::string>& arguments, const std::string& output) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no child survives an aborted test
  const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0) ::_exit(127);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  ::execvp(pointers[0], pointers.data());
  ::_exit(127);
}

ipc::Request request_of(ipc::Verb verb) {
  ipc::Request request;
  request.verb = verb;
  return request;
}

// Leftovers of a program that was killed, e.g. by Ctrl-C: the names begin with the number of a
// process that no longer exists.
void remove_leftovers(const std::string& directory) {
  const auto left_over = [](const std::string& name) {
    unsigned process = 0;
    char then = 0;
    return std::sscanf(name.c_str(), "tempo%u%c", &process, &then) == 2 && then == '-' &&
           !std::filesystem::exists(fmt::format("/proc/{}", process));
  };
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", ignored))
    if (const std::string name = entry.path().filename(); left_over(name))
      run({"ip", "netns", "delete", name});
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored))
    if (left_over(entry.path().filename())) std::filesystem::remove_all(entry, ignored);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  const pid_t child = spawn(arguments, "/dev/null");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// --- host ---

Host::Host(Site& site, int number, HostOptions options)
    : site_(&site),
      number_(number),
      options_(std::move(options)),
      name_(options_.name.empty() ? fmt::format("host{}", number) : options_.name) {
  run_or_throw({"ip", "netns", "add", space()});
  run_or_throw({"ip", "-n", space(), "link", "set", "lo", "up"});
  for (std::size_t i = 0; i < options_.lans.size(); ++i) {
    const int lan = options_.lans[i];
    const std::string inside = fmt::format("eth{}", i);
    const std::string outside = fmt::format("h{}e{}", number_, i);
    run_or_throw({"ip", "-n", site_->space("hub"), "link", "add", "name", outside, "type", "veth",
                  "peer", "name", inside, "netns", space()});
    run_or_throw({"ip", "-n", site_->space("hub"), "link", "set", outside, "master",
                  site_->bridge(lan, options_.far), "up"});
    if (!options_.ipv6)
      run_or_throw({"ip", "-n", space(), "address", "add", fmt::format("{}/24", address(lan)),
                    "broadcast", fmt::format("10.99.{}.255", lan), "dev", inside});
    run_or_throw({"ip", "-n", space(), "link", "set", inside, "up"});
  }
  std::filesystem::create_directories(directory());
  std::filesystem::permissions(directory(), std::filesystem::perms::all);
}

Host::~Host() {
  kill_all();
  run({"ip", "netns", "delete", space()});
}

std::string Host::space() const { return site_->space(fmt::format("h{}", number_)); }
std::string Host::address(int lan) const { return fmt::format("10.99.{}.{}", lan, number_); }
std::string Host::directory() const { return fmt::format("{}/{}", site_->directory(), number_); }
std::string Host::socket() const { return directory() + "/socket"; }
std::string Host::log() const { return text_of(directory() + "/log"); }

void Host::start() {
  std::vector<std::string> arguments{
      "ip",
      "netns",
      "exec",
      space(),
      site_->options().tempod,
      "--port",
      std::to_string(kPort),
      "--name",
      name_,
      "--profile",
      site_->options().profile,
      "--clock",
      "software",
      "--state-dir",
      options_.state.empty() ? directory() : options_.state,
      "--socket",
      socket(),
      "--user",
      options_.user,
      "--set",
      fmt::format("realtime={}", site_->options().realtime),
      "--set",
      fmt::format("machine-id=\"{}\"", options_.machine_id.empty()
                                           ? fmt::format("{}-{}", site_->directory(), number_)
                                           : options_.machine_id),
      "--set",
      fmt::format("software-clock.offset-ms={:.6f}",
                  static_cast<double>(options_.offset.count()) * 1e-6),
      "--set",
      fmt::format("software-clock.drift-ppm={:.6f}", options_.drift * 1e6)};
  if (options_.ipv6) {
    arguments.emplace_back("--set");
    arguments.emplace_back("ipv6=true");
  }
  if (site_->options().key && !options_.keyless) {
    arguments.emplace_back("--key-file");
    arguments.push_back(site_->directory() + "/key");
  }
  arguments.insert(arguments.end(), site_->options().arguments.begin(),
                   site_->options().arguments.end());
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
  process_ = spawn(arguments, directory() + "/log");
}

void Host::set_arguments(std::vector<std::string> arguments, bool keyless) {
  options_.arguments = std::move(arguments);
  options_.keyless = keyless;
}

void Host::stop() {
  if (process_ <= 0) return;
  ::kill(process_, SIGTERM);
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

pid_t Host::worker() const {
  if (process_ <= 0) return 0;
  std::istringstream children(
      text_of(fmt::format("/proc/{}/task/{}/children", process_, process_)));
  pid_t child = 0;
  children >> child;
  return child;
}

void Host::kill_worker() const {
  if (const pid_t child = worker(); child > 0) ::kill(child, SIGKILL);
}

void Host::kill_all() {
  if (process_ <= 0) return;
  // Neither the crash hint of the parent nor the resignation of the worker may be sent.
  ::kill(process_, SIGSTOP);
  if (const pid_t child = worker(); child > 0) ::kill(child, SIGKILL);
  ::kill(process_, SIGKILL);
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

void Host::pause(bool on) const {
  if (const pid_t child = worker(); child > 0) ::kill(child, on ? SIGSTOP : SIGCONT);
}

void Host::reload() const { ::kill(process_, SIGHUP); }

void Host::set_link(bool up, int lan) const {
  const auto place = std::ranges::find(options_.lans, lan) - options_.lans.begin();
  run_or_throw({"ip", "-n", site_->space("hub"), "link", "set",
                fmt::format("h{}e{}", number_, place), up ? "up" : "down"});
}

std::optional<obs::Snapshot> Host::status() const {
  auto client = client::Client::connect(socket(), kTimeout);
  if (!client) return std::nullopt;
  const auto reply = client->ask(request_of(ipc::Verb::status));
  if (!reply) return std::nullopt;
  const std::optional<Json> status = reply->body.at("status");
  if (!status) return std::nullopt;
  auto snapshot = obs::from_json(status->line());
  if (!snapshot) return std::nullopt;
  return *std::move(snapshot);
}

std::optional<client::ClockOffset> Host::clock_offset() const {
  auto client = client::Client::connect(socket(), kTimeout);
  if (!client) return std::nullopt;
  return client::clock_offset(*client, 5);
}

// A line of names, then a line of numbers. Datagrams dropped by a socket filter are not counted.
std::uint64_t Host::dropped() const {
  std::istringstream table(text_of(fmt::format("/proc/{}/net/snmp", worker())));
  std::vector<std::string> names;
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with("Udp: ")) continue;
    std::istringstream fields(line);
    std::vector<std::string> columns{std::istream_iterator<std::string>(fields), {}};
    const auto place = std::ranges::find(names, "RcvbufErrors") - names.begin();
    if (std::cmp_less(place, names.size()) && std::cmp_less(place, columns.size()))
      return std::strtoull(columns[static_cast<std::size_t>(place)].c_str(), nullptr, 10);
    names = std::move(columns);
  }
  return 0;
}

Attack Host::attack(const std::vector<std::string>& targets, int count, Attempt attempt,
                    int at_once) const {
  return testbed::attack({.attempt = attempt,
                          .space = space(),
                          .broadcast = fmt::format("10.99.{}.255", options_.lans.front()),
                          .targets = targets,
                          .port = kPort,
                          .count = count,
                          .at_once = at_once});
}

std::optional<bool> Host::command(const ipc::Request& request) const {
  auto client = client::Client::connect(socket(), kTimeout);
  if (!client) return std::nullopt;
  return client->ask(request).has_value();
}

Result<ipc::Reply, client::Error> Host::ask(const ipc::Request& request, Nanos timeout) const {
  auto client = client::Client::connect(socket(), timeout);
  if (!client) return std::unexpected(client.error());
  return client->ask(request);
}

// --- site ---

std::string Site::obstacle() {
  if (::geteuid() != 0) return "needs root for network namespaces";
  if (run({"ip", "-V"}) != 0) return "needs iproute2";
  const std::string probe = fmt::format("tempo-probe-{}", ::getpid());
  if (run({"ip", "netns", "add", probe}) != 0) return "cannot create network namespaces here";
  const bool bridges =
      run({"ip", "-n", probe, "link", "add", "name", "probe0", "type", "bridge"}) == 0;
  run({"ip", "netns", "delete", probe});
  return bridges ? "" : "cannot create bridges here";
}

// One line per CPU; its second number, in hexadecimal, counts drops.
std::uint64_t Site::lost_on_the_way() {
  std::istringstream table(text_of("/proc/net/softnet_stat"));
  std::uint64_t sum = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string processed, dropped;
    fields >> processed >> dropped;
    sum += std::strtoull(dropped.c_str(), nullptr, 16);
  }
  return sum;
}

Site::Site(Options options) : options_(std::move(options)) {
  static std::atomic<int> count{0};
  prefix_ = fmt::format("tempo{}-{}", ::getpid(), ++count);
  const std::filesystem::path parent = std::filesystem::temp_directory_path();
  remove_leftovers(parent);
  directory_ = parent / prefix_;
  std::filesystem::create_directories(directory_);
  if (options_.key) {
    std::ofstream(directory_ + "/key") << "tempo-key-1 " << std::string(63, 'a') << "b\n";
    std::filesystem::permissions(directory_ + "/key", std::filesystem::perms::owner_read |
                                                          std::filesystem::perms::owner_write);
  }
  run_or_throw({"ip", "netns", "add", space("hub")});
  for (int lan = 0; lan < options_.lans; ++lan) {
    for (const bool far : {false, true}) {
      run_or_throw(
          {"ip", "-n", space("hub"), "link", "add", "name", bridge(lan, far), "type", "bridge"});
      run_or_throw({"ip", "-n", space("hub"), "link", "set", bridge(lan, far), "up"});
    }
    run_or_throw({"ip", "-n", space("hub"), "link", "add", "name", fmt::format("n{}", lan), "type",
                  "veth", "peer", "name", fmt::format("f{}", lan)});
    run_or_throw({"ip", "-n", space("hub"), "link", "set", fmt::format("n{}", lan), "master",
                  bridge(lan, false), "up"});
    run_or_throw({"ip", "-n", space("hub"), "link", "set", fmt::format("f{}", lan), "master",
                  bridge(lan, true), "up"});
  }
}

Site::~Site() {
  hosts_.clear();
  relays_.clear();
  run({"ip", "netns", "delete", space("hub")});
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string Site::space(const std::string& part) const { return prefix_ + "-" + part; }
std::string Site::bridge(int lan, bool far) const {
  return fmt::format("{}{}", far ? "far" : "near", lan);
}

Host& Site::add(HostOptions options) {
  hosts_.push_back(
      std::make_unique<Host>(*this, static_cast<int>(hosts_.size()) + 1, std::move(options)));
  return *hosts_.back();
}

void Site::start_all() {
  for (const auto& host : hosts_) host->start();
}

void Site::set_trunk(bool up, int lan) const {
  run_or_throw(
      {"ip", "-n", space("hub"), "link", "set", fmt::format("n{}", lan), up ? "up" : "down"});
}

Relay& Site::set_impairment(const Impairment& impairment, int lan) {
  set_trunk(false, lan);
  const std::string hub = space("hub");
  for (const bool far : {false, true}) {
    const std::string relayed = fmt::format("{}{}", far ? "rf" : "rn", lan);
    const std::string bridged = fmt::format("{}{}", far ? "bf" : "bn", lan);
    run_or_throw(
        {"ip", "-n", hub, "link", "add", "name", relayed, "type", "veth", "peer", "name", bridged});
    run_or_throw({"ip", "-n", hub, "link", "set", relayed, "up"});
    run_or_throw({"ip", "-n", hub, "link", "set", bridged, "master", bridge(lan, far), "up"});
  }
  relays_.push_back(
      std::make_unique<Relay>(hub, fmt::format("rn{}", lan), fmt::format("rf{}", lan), impairment));
  return *relays_.back();
}

// In one transaction, so that no datagram sees half of the rules.
void Site::filter(const std::vector<std::string>& rules) const {
  std::string script = "add table bridge tempo; delete table bridge tempo;";
  if (!rules.empty())
    script +=
        "add table bridge tempo; add chain bridge tempo forward "
        "{ type filter hook forward priority 0; };";
  for (const std::string& rule : rules) script += "add rule bridge tempo forward " + rule + ';';
  run_or_throw({"ip", "netns", "exec", space("hub"), "nft", script});
}

int Site::master_of_first(std::size_t count) const {
  int leader = -1;
  std::string led_by;
  for (std::size_t i = 0; i < count; ++i) {
    if (!hosts_[i]->running()) continue;
    const auto status = hosts_[i]->status();
    if (!status || status->networks.empty()) return -1;
    const obs::NetworkView& network = status->networks.front();
    if (led_by.empty()) led_by = network.master_id;
    if (network.master_id.empty() || network.master_id != led_by) return -1;
    if (network.state == "master") {
      if (leader >= 0) return -1;
      leader = static_cast<int>(i);
    } else if (network.state != "follower") {
      return -1;
    }
  }
  return leader;
}

bool Site::wait(Nanos limit, const std::function<bool()>& done) const {
  constexpr int kBusyMachine = 3;
  const auto end = std::chrono::steady_clock::now() + kBusyMachine * limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

std::string Site::describe() const {
  std::string text;
  std::optional<Nanos> first;
  for (const auto& host : hosts_) {
    const auto status = host->running() ? host->status() : std::nullopt;
    if (!status || status->networks.empty()) {
      text += fmt::format("{}: does not answer\n", host->name());
      continue;
    }
    const auto offset = host->clock_offset();
    if (offset && !first) first = offset->offset;
    text += fmt::format(
        "{}: {} of {} in round {}, {}, {} exchanges, believes {:.1f} us, "
        "rate {:.3f} ppm, clock {} us\n",
        host->name(), status->networks.front().state, status->networks.front().master,
        status->networks.front().epoch_round, status->status, status->exchanges, status->offset_us,
        status->rate_ppm, offset ? (offset->offset - *first).count() / 1000 : 0);
  }
  return text;
}

std::optional<Nanos> Site::spread_of_first(std::size_t count) const {
  Nanos low = Nanos::max();
  Nanos high = Nanos::min();
  for (std::size_t i = 0; i < count; ++i) {
    if (!hosts_[i]->running()) continue;
    const auto offset = hosts_[i]->clock_offset();
    if (!offset) return std::nullopt;
    low = std::min(low, offset->offset + offset->uncertainty);
    high = std::max(high, offset->offset - offset->uncertainty);
  }
  return std::max(high - low, Nanos{0});
}

}  // namespace tempo::testbed
