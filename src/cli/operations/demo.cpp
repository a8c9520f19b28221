#include "cli/operations/demo.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "api/snapshot.h"
#include "base/json.h"
#include "cli/common/daemon.h"
#include "cli/common/exit_codes.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "client/client.h"
#include "client/clock_offset.h"

namespace tempo::cli {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Nanos kReplyTimeout = 300ms;
constexpr Nanos kFrame = 100ms;           // between two screens
constexpr Nanos kAgreed = 1ms;            // clocks this close agree
constexpr Nanos kMaxUncertainty = 250us;  // of a measurement; a busy machine answers late
// Clocks that are off by up to a second and drift by up to 100 ppm.
constexpr std::array<double, 9> kOffsetsMs{-700, 420, 930, -250, 610, -980, 150, -530, 340};
constexpr std::array<double, 9> kDriftsPpm{35, -80, 12, 97, -44, 60, -15, 78, -99};

std::string text_of(Nanos length) { return obs::micros_text(Seconds(length).count() * 1e6); }

// The state of one machine.
struct View {
  std::string state = "down";
  std::string master;
  std::uint64_t round = 0;
  std::string status;
  std::optional<Nanos> offset;  // of its clock from the raw clock of this machine; nullopt: unknown
};

class Machine {
 public:
  Machine(std::uint32_t number, const DemoArguments& arguments, const std::string& directory,
          const std::string& tempod)
      : name_(fmt::format("machine{}", number)),
        directory_(fmt::format("{}/{}", directory, number)) {
    std::filesystem::create_directories(directory_);
    const std::size_t i = (number - 1) % kOffsetsMs.size();
    const std::vector<std::string> words{
        tempod,
        "--config",
        "/dev/null",
        "--name",
        name_,
        "--profile",
        arguments.profile,
        "--port",
        std::to_string(arguments.port),
        "--clock",
        "software",
        "--state-dir",
        directory_,
        "--socket",
        socket(),
        "--user",
        "",
        "--set",
        "key-file=\"\"",
        "--set",
        "realtime=false",
        "--set",
        fmt::format("cluster=\"demo-{}\"", ::getpid()),
        "--set",
        fmt::format("bind=[\"127.0.0.{}\"]", number),
        "--set",
        "broadcast=\"127.255.255.255\"",
        "--set",
        fmt::format("machine-id=\"demo-{}\"", number),
        "--set",
        fmt::format("software-clock.offset-ms={}", kOffsetsMs[i]),
        "--set",
        fmt::format("software-clock.drift-ppm={}", kDriftsPpm[i]),
    };
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const std::string log = directory_ + "/log";
    process_ = ::fork();
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0 || ::dup2(file, STDOUT_FILENO) < 0 || ::dup2(file, STDERR_FILENO) < 0)
      ::_exit(127);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ~Machine() {
    if (process_ > 0) ::kill(process_, SIGTERM);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void wait_for_end() {
    if (process_ <= 0) return;
    int status = 0;
    for (int i = 0; i < 100 && ::waitpid(process_, &status, WNOHANG) == 0; ++i)
      ::poll(nullptr, 0, 20);
    ::kill(process_, SIGKILL);
    ::waitpid(process_, &status, 0);
    process_ = 0;
  }
  void ask_to_end() const {
    if (process_ > 0) ::kill(process_, SIGTERM);
  }
  bool ended() const {
    siginfo_t info{};
    return process_ <= 0 ||
           (::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid != 0);
  }

  // Simulates a crash: the parent process reports the loss of its worker and starts another.
  bool kill_worker() const {
    std::ifstream children(fmt::format("/proc/{}/task/{}/children", process_, process_));
    pid_t worker = 0;
    return children >> worker && worker > 0 && ::kill(worker, SIGKILL) == 0;
  }

  View read_view() const {
    View view;
    auto client = client::Client::connect(socket(), kReplyTimeout);
    if (!client) return view;
    const auto reply = client->ask(request_of(ipc::Verb::status));
    if (!reply) return view;
    const auto body = reply->body.at("status");
    if (!body) return view;
    const auto snapshot = obs::from_json(body->line());
    if (!snapshot || snapshot->networks.empty()) return view;
    view.state = snapshot->networks.front().state;
    view.master = snapshot->networks.front().master;
    view.round = snapshot->networks.front().epoch_round;
    view.status = snapshot->status;
    const auto clock = client::clock_offset(*client, 5);
    if (clock && clock->uncertainty < kMaxUncertainty) view.offset = clock->offset;
    return view;
  }

  const std::string& name() const { return name_; }
  std::string socket() const { return directory_ + "/socket"; }
  std::string log() const {
    std::ifstream file(directory_ + "/log");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  std::string name_;
  std::string directory_;
  pid_t process_ = 0;
};

// tempo-web beside the first machine.
class WebServer {
 public:
  // Its address; an error: it did not start.
  Result<std::string> start(const std::string& program, const std::string& socket) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected("cannot create a pipe");
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::dup2(ends[1], STDERR_FILENO) < 0) ::_exit(127);
      ::execl(program.c_str(), program.c_str(), "--socket", socket.c_str(), "--listen",
              "127.0.0.1:0", "--user", "", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    std::string text;
    char buffer[256];
    pollfd end{.fd = ends[0], .events = POLLIN, .revents = 0};
    ssize_t got = 0;
    while (text.find('\n') == text.npos && ::poll(&end, 1, 5000) > 0 &&
           (got = ::read(ends[0], buffer, sizeof buffer)) > 0)
      text.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
    const std::size_t begin = text.find("http://");
    if (begin == text.npos)
      return std::unexpected(
          fmt::format("{} did not start; install it beside tempo {}", program, text));
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  ~WebServer() {
    if (process_ <= 0) return;
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  WebServer() = default;
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

 private:
  pid_t process_ = 0;
};

// A temporary directory; the destructor removes it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-demo-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// While one lives, keys arrive without Enter.
class RawKeys {
 public:
  RawKeys() {
    if (::isatty(STDIN_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  ~RawKeys() {
    if (raw_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawKeys(const RawKeys&) = delete;
  RawKeys& operator=(const RawKeys&) = delete;

  // Waits for `span`, or until q is pressed; true: q was pressed.
  bool quit_within(Nanos span) const {
    const int wait = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(span).count());
    if (!raw_) {
      ::poll(nullptr, 0, wait);
      return false;
    }
    pollfd key{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&key, 1, wait) <= 0) return false;
    char pressed = 0;
    return ::read(STDIN_FILENO, &pressed, 1) == 1 && (pressed == 'q' || pressed == 'Q');
  }

 private:
  termios before_{};
  bool raw_ = false;
};

class Demo {
 public:
  Demo(const DemoArguments& arguments, std::string tempod)
      : arguments_(arguments),
        moving_(!arguments.plain && !arguments.json && stdout_is_terminal()),
        tempod_(std::move(tempod)) {}

  int run() {
    if (scratch_.path().empty())
      return print_error(kViolation,
                         "cannot create a temporary directory; check that /tmp is writable");
    started_ = steady_now();
    log(fmt::format("{} machines start; their clocks are up to a second apart",
                    arguments_.machines));
    for (std::uint32_t i = 1; i <= arguments_.machines; ++i)
      machines_.push_back(std::make_unique<Machine>(i, arguments_, scratch_.path(), tempod_));
    if (arguments_.web) {
      const auto address = web_.start(std::filesystem::path(tempod_).replace_filename("tempo-web"),
                                      machines_.front()->socket());
      if (!address) return print_error(kViolation, address.error());
      address_ = *address;
      log("open " + address_ + " in a browser; the demo ends after Ctrl-C");
    }
    const Instant end = started_ + Nanos{std::llround(arguments_.seconds * 1e9)};
    if (moving_) fmt::print("\x1b[2J\x1b[?25l");
    {
      const RawKeys keys;
      while (steady_now() < end && !interrupted()) {
        read_views();
        if (machines_.front()->ended()) break;
        act();
        draw();
        if (keys.quit_within(kFrame)) {
          quit_ = true;
          break;
        }
      }
    }
    if (moving_) fmt::print("\x1b[?25h\n");
    return finish();
  }

 private:
  void log(const std::string& text) {
    const std::string line =
        fmt::format("{:6.2f} s  {}", Seconds(steady_now() - started_).count(), text);
    if (!moving_ && !arguments_.json) {
      print("{}\n", line);
      std::fflush(stdout);
    }
    log_.push_back(line);
    if (log_.size() > 10) log_.pop_front();
  }

  void read_views() {
    views_.clear();
    for (const auto& machine : machines_) views_.push_back(machine->read_view());
    Nanos low = Nanos::max();
    Nanos high = Nanos::min();
    std::size_t known = 0;
    for (const View& view : views_) {
      if (!view.offset) continue;
      ++known;
      low = std::min(low, *view.offset);
      high = std::max(high, *view.offset);
    }
    spread_ = known == machines_.size() ? std::optional(high - low) : std::nullopt;
  }

  // The machine that leads and that all others follow; nullopt: there is none.
  std::optional<std::size_t> master() const {
    std::optional<std::size_t> leader;
    for (std::size_t i = 0; i < views_.size(); ++i) {
      if (views_[i].state == "master") {
        if (leader) return std::nullopt;
        leader = i;
      }
    }
    if (!leader) return std::nullopt;
    for (std::size_t i = 0; i < views_.size(); ++i)
      if (i != *leader && views_[i].state != "down" &&
          views_[i].master != machines_[*leader]->name())
        return std::nullopt;
    return leader;
  }

  void act() {
    for (std::size_t i = 0; i < views_.size(); ++i) {
      if (states_.size() < views_.size()) states_.resize(views_.size());
      if (views_[i].state == states_[i]) continue;
      states_[i] = views_[i].state;
      if (states_[i] == "master")
        log(fmt::format("{} is master, epoch {}", machines_[i]->name(), views_[i].round));
      else if (states_[i] == "candidate")
        log(fmt::format("{} is a candidate", machines_[i]->name()));
    }
    const std::optional<std::size_t> leader = master();
    const Instant now = steady_now();
    if (!agreed_at_ && leader && spread_ && *spread_ < kAgreed) {
      agreed_at_ = now;
      log(fmt::format("all clocks agree within a millisecond ({})", text_of(*spread_)));
    }
    const Nanos before_kill = std::min<Nanos>(4s, Nanos{std::llround(arguments_.seconds * 2e8)});
    if (agreed_at_ && !victim_ && leader && now - *agreed_at_ > before_kill) {
      if (!machines_[*leader]->kill_worker()) return;
      victim_ = leader;
      killed_at_ = steady_now();
      log(fmt::format("{}, the master, is killed", machines_[*leader]->name()));
    }
    if (victim_ && !heir_ && leader && *leader != *victim_) {
      heir_ = leader;
      replaced_after_ = now - killed_at_;
      log(fmt::format("{} was elected; all other machines follow it", machines_[*leader]->name()));
    }
    if (heir_ && !back_ && views_[*victim_].state == "follower" && leader == heir_) {
      back_ = true;
      log(fmt::format("{} is back, as a follower", machines_[*victim_]->name()));
    }
    if (back_ && spread_) last_spread_ = spread_;
  }

  void draw() {
    if (!moving_) return;
    std::string page = "\x1b[H";
    const auto line = [&](const std::string& text) { page += text + "\x1b[K\n"; };
    line(fmt::format("  tempo demo   {:5.1f} s   {} real daemons on this machine      q quits",
                     Seconds(steady_now() - started_).count(), machines_.size()));
    line(address_.empty() ? "" : "    " + address_);
    const std::optional<std::size_t> leader = master();
    for (std::size_t i = 0; i < views_.size(); ++i) {
      const View& view = views_[i];
      const bool leads = view.state == "master";
      std::string off = "?";
      if (view.offset && leader && views_[*leader].offset)
        off = text_of(*view.offset - *views_[*leader].offset);
      line(fmt::format("    {} {:<10} {:<12} {:>10}   {}",
                       leads                  ? "*"
                       : view.state == "down" ? "x"
                                              : "-",
                       machines_[i]->name(), view.state, off, view.status));
    }
    line("");
    line(fmt::format("    largest difference {}", spread_ ? text_of(*spread_) : "?"));
    line("");
    for (const std::string& entry : log_) line("  " + entry);
    page += "\x1b[J";
    fmt::print("{}", page);
    std::fflush(stdout);
  }

  int finish() {
    for (const auto& machine : machines_) machine->ask_to_end();
    for (const auto& machine : machines_) machine->wait_for_end();
    if (quit_ || interrupted()) {
      if (!arguments_.json) print("stopped before the end\n");
      return interrupted() ? kInterrupted : kDone;
    }
    if (!agreed_at_ || !heir_ || !back_) {
      const std::string what = !agreed_at_ ? "the clocks did not agree in time"
                               : !heir_    ? "no new master was elected in time"
                                           : "the old master did not come back in time";
      return print_error(kViolation, fmt::format("{}; log of the first machine:\n{}", what,
                                                 machines_.front()->log()));
    }
    if (arguments_.json) {
      print_json(summary());
      return kDone;
    }
    print(
        "{} machines agreed within 1 ms after {:.1f} s; {} was killed, {} led {:.0f} ms later; "
        "at the end all are within {}\n",
        machines_.size(), Seconds(*agreed_at_ - started_).count(), machines_[*victim_]->name(),
        machines_[*heir_]->name(), Seconds(replaced_after_).count() * 1e3,
        last_spread_ ? text_of(*last_spread_) : "an unknown time");
    return kDone;
  }

  // Summary of a demo that went as expected.
  Json summary() const {
    Json json = Json::object()
                    .add("machines", static_cast<std::uint64_t>(machines_.size()))
                    .add("agreed_after_s", Seconds(*agreed_at_ - started_).count())
                    .add("killed", machines_[*victim_]->name())
                    .add("master", machines_[*heir_]->name())
                    .add("replaced_after_ms", Seconds(replaced_after_).count() * 1e3);
    if (last_spread_)
      json.add("spread_us", Seconds(*last_spread_).count() * 1e6);
    else
      json.add_null("spread_us");
    return json;
  }

  DemoArguments arguments_;
  bool moving_;
  std::string tempod_;
  InterruptGuard guard_;
  Scratch scratch_;
  Instant started_{};
  std::vector<std::unique_ptr<Machine>> machines_;
  WebServer web_;
  std::string address_;  // of the page; empty: none
  std::vector<View> views_;
  std::vector<std::string> states_;
  std::deque<std::string> log_;
  std::optional<Nanos> spread_;
  std::optional<Nanos> last_spread_;
  std::optional<Instant> agreed_at_;
  std::optional<std::size_t> victim_;
  std::optional<std::size_t> heir_;
  Instant killed_at_{};
  Nanos replaced_after_{0};
  bool back_ = false;
  bool quit_ = false;
};

}  // namespace

int demo(const DemoArguments& given) {
  constexpr double kSeconds = 24;
  constexpr double kSecondsOfPage = 3600;
  DemoArguments arguments = given;
  if (arguments.seconds == 0) arguments.seconds = arguments.web ? kSecondsOfPage : kSeconds;
  if (arguments.machines < 3 || arguments.machines > kOffsetsMs.size())
    return print_error(kBadUsage, fmt::format("--machines must be 3 to {}", kOffsetsMs.size()));
  std::string tempod = arguments.tempod;
  if (tempod.empty()) {
    std::error_code ignored;
    const std::filesystem::path beside =
        std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    tempod = (beside / "tempod").string();
    // Installed, tempo is in bin and tempod in sbin.
    if (::access(tempod.c_str(), X_OK) != 0)
      tempod = (beside.parent_path() / "sbin" / "tempod").string();
  }
  if (::access(tempod.c_str(), X_OK) != 0)
    return print_error(
        kViolation,
        fmt::format("cannot run {}; install it beside tempo, or give --tempod", tempod));
  return Demo(arguments, tempod).run();
}

}  // namespace tempo::cli
