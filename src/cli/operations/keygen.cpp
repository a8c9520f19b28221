#include "cli/operations/keygen.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/common/daemon.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/operations/keys.h"
#include "platform/whole_file.h"
#include "protocol/auth/key_rotation.h"
#include "protocol/auth/node_keys.h"

namespace tempo::cli {
namespace {

constexpr std::size_t kMaxFile = 65536;  // bytes

using auth::KeyLines;

Result<void> write_key(const std::string& path, const std::string& text, bool replace) {
  return sys::write_secret(path, text, replace ? sys::WriteMode::replace : sys::WriteMode::create);
}

// Standard output has only the line for the node list, so that a pipe can append it to a file.
int keygen_node(const KeygenArguments& arguments) {
  if (arguments.add || arguments.promote || arguments.drop || arguments.withdraw)
    return print_error(kBadUsage,
                       "a machine has one signing key and does not rotate it; --force replaces it");
  if (arguments.file == "-")
    return print_error(kBadUsage,
                       "a signing key must stay on its machine; give a file instead of -");
  const std::string path = arguments.file.empty() ? "/etc/tempo/node-key" : arguments.file;
  const auth::Key seed = auth::new_key();
  const std::string text = "# Signing key of this machine only, mode 0600. Do not copy it.\n" +
                           auth::node_key_line(seed) + '\n';
  if (const auto written = write_key(path, text, arguments.force); !written)
    return print_error(kBadUsage, written.error() + "; --force replaces an existing key");
  const std::string line = auth::node_list_line(auth::public_of(seed));
  if (arguments.json) {
    print_json(Json::object().add("file", path).add("public", line));
    return kDone;
  }
  print("{}\n", line);
  print_error(
      "The signing key is in {}. Add the line above to the node list of every machine, set\n"
      "groups.node-key-file and groups.node-list-file in tempo.toml, and restart tempod.\n",
      path);
  return kDone;
}

// --- key changes ---

Result<std::string> standard_input() {
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(std::string(std::strerror(errno)));
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxFile) return std::unexpected(std::string("it is too long"));
  }
}

// The lines of this machine's key file; none: it has no file.
Result<KeyLines> read_lines(const std::string& path) {
  const sys::FileText file = sys::read_file(path, kMaxFile);
  if (file.state == sys::FileState::absent) return KeyLines{};
  if (file.state == sys::FileState::lost) return std::unexpected(file.error);
  auto lines = auth::parse_keys(file.text);
  if (!lines)
    return std::unexpected(
        fmt::format("{}: {}; correct the file, or replace it with --force", path, lines.error()));
  return lines;
}

// The key to add: a new one, or that of another machine. Unset: this machine has it already.
Result<std::optional<auth::Key>> key_to_add(const std::string& from, const KeyLines& lines) {
  if (from.empty()) return auth::new_key();
  std::string text;
  if (from == "-") {
    const auto input = standard_input();
    if (!input)
      return std::unexpected(
          fmt::format("cannot read standard input ({}); pipe the key file of "
                      "another machine",
                      input.error()));
    text = *input;
  } else {
    const sys::FileText file = sys::read_file(from, kMaxFile);
    if (file.state == sys::FileState::absent)
      return std::unexpected(
          fmt::format("{} does not exist; --key needs the key file of another machine", from));
    if (file.state == sys::FileState::lost) return std::unexpected(file.error);
    text = file.text;
  }
  const std::string name = from == "-" ? "standard input" : from;
  const auto lines_of_other = auth::parse_keys(text);
  if (!lines_of_other)
    return std::unexpected(fmt::format("{}: {}; --key needs the key file of another machine", name,
                                       lines_of_other.error()));
  auto missing = auth::missing_key(lines, *lines_of_other);
  if (!missing) return std::unexpected(fmt::format("{}: {}", name, missing.error()));
  return missing;
}

constexpr Nanos kTimeout = 5s;  // for an answer of tempod, which asks all members

// The state of this machine's tempod; unset: it does not answer.
std::optional<obs::Snapshot> known_keys(const std::string& socket) {
  auto client = client::Client::connect(socket, kTimeout);
  if (!client) return std::nullopt;
  const auto reply = client->ask(request_of(ipc::Verb::keys));
  const auto status = reply ? reply->body.at("status") : std::nullopt;
  if (!status) return std::nullopt;
  auto snapshot = obs::from_json(status->line());
  return snapshot ? std::optional(*std::move(snapshot)) : std::nullopt;
}

// Why the step would cut members off, by what tempod of this machine knows.
Result<void> check_step(const KeygenArguments& arguments, const KeyLines& lines) {
  const std::optional<obs::Snapshot> known = known_keys(arguments.socket);
  if (!known) return {};
  if (arguments.add) {
    if (!lines.empty() || known->keys == 0) return {};
    return std::unexpected(
        fmt::format("{} does not exist, but tempod uses key {}; restore the file", arguments.file,
                    known->sealing_key));
  }
  const auth::Keyring ring(lines);
  const std::string seals = auth::key_name_of(ring.sealing_id());
  const std::string other = ring.rotates() ? auth::key_name_of(ring.other_id()) : "";
  if (known->sealing_key != seals && known->sealing_key != other) return {};  // of another cluster
  if (known->sealing_key != seals || known->opening_key != other)
    return std::unexpected(
        fmt::format("tempod does not use the keys of {} yet; run 'systemctl reload tempod' first",
                    arguments.file));
  if (arguments.withdraw) {
    const auto sealing = std::ranges::find(known->members, other, &obs::MemberView::seals);
    if (other.empty() || sealing == known->members.end()) return {};
    return std::unexpected(
        fmt::format("{} seals with key {} already; finish the change with 'tempo keygen --promote'",
                    sealing->name, other));
  }
  const obs::KeyReport report = report_on_keys(*known);
  if (!report.lacking.empty()) return std::unexpected(report.text);
  if (!report.silent.empty()) print_error("tempo: warning: {}\n", report.text);
  return {};
}

// One step of a key change.
struct Step {
  KeyLines lines{};   // after it; empty: there is no key file any more
  auth::Key about{};  // the key that was added, promoted, dropped or withdrawn
  bool done = true;   // false: the machine had that key already
};

Result<Step> step_of(const KeygenArguments& arguments, const KeyLines& lines) {
  if (arguments.add) {
    TRY(key, key_to_add(arguments.key, lines));
    if (!key) return Step{.lines = lines, .about = lines.back().key, .done = false};
    TRY(added, auth::add_key(lines, *key));
    return Step{.lines = std::move(added), .about = *key};
  }
  if (lines.empty())
    return std::unexpected(fmt::format(
        "{} does not exist; 'tempo keygen --add' introduces a first key", arguments.file));
  if (arguments.promote) {
    TRY(promoted, auth::promote_key(lines));
    return Step{.lines = std::move(promoted), .about = lines.back().key};
  }
  if (arguments.drop) {
    TRY(left, auth::drop_key(lines));
    return Step{.lines = std::move(left), .about = lines.front().key};
  }
  TRY(left, auth::withdraw_key(lines));
  return Step{.lines = std::move(left), .about = lines.back().key};
}

std::string description(const KeygenArguments& arguments, const Step& step) {
  const std::string key = auth::key_name(step.about);
  const std::string& file = arguments.file;
  constexpr std::string_view kReload =
      "Run 'systemctl reload tempod' here, and take the same step on every other machine";
  if (!step.done) return fmt::format("{} has key {} already.\n", file, key);
  if (arguments.add) {
    const bool first = auth::key_id(step.lines.front().key) == 0;
    return fmt::format(
        "Key {0} is in {1}; it opens datagrams and does not seal them yet.{2}\n"
        "Run 'systemctl reload tempod' here. Add the same key on every other machine:\n"
        "  sudo cat {1} | ssh MACHINE 'sudo tempo keygen --add --key - && sudo systemctl reload "
        "tempod'\n"
        "When 'tempo keys' says that all members open it, go on with 'tempo keygen --promote'.\n",
        key, file,
        first ? " Until --drop, tempod also accepts datagrams without a key and warns of it." : "");
  }
  if (arguments.promote)
    return fmt::format(
        "Key {} seals from now on; {} still opens.\n{}.\nWhen 'tempo keys' says that all members "
        "seal with it, go on with 'tempo keygen --drop'.\n",
        key, auth::key_name(step.lines.front().key), kReload);
  if (arguments.drop)
    return fmt::format(
        "{} was dropped; only key {} is valid.\n{}.\n",
        auth::key_id(step.about) == 0 ? "Sending and accepting without a key" : "Key " + key,
        auth::key_name(step.lines.front().key), kReload);
  return fmt::format("Key {} was taken back{}.\n{}.\n", key,
                     step.lines.empty() ? fmt::format("; {} is removed", file) : "", kReload);
}

int change_keys(const KeygenArguments& arguments) {
  if (arguments.file == "-")
    return print_error(kBadUsage, "a key change needs the key file of this machine instead of -");
  const auto lines = read_lines(arguments.file);
  if (!lines) return print_error(kBadUsage, lines.error());
  const auto step = step_of(arguments, *lines);
  if (!step) return print_error(kBadUsage, step.error());
  if (!arguments.force)
    if (const auto safe = check_step(arguments, *lines); !safe)
      return print_error(kBadUsage, safe.error() + "; --force takes the step in spite of it");
  if (step->done) {
    const auto written =
        step->lines.empty()
            ? sys::remove_file(arguments.file)
            : write_key(arguments.file, auth::key_file_text(step->lines), !lines->empty());
    if (!written) return print_error(kBadUsage, written.error());
  }
  if (!arguments.json) {
    print("{}", description(arguments, *step));
    return kDone;
  }
  const auth::Keyring ring = step->lines.empty() ? auth::Keyring() : auth::Keyring(step->lines);
  print_json(Json::object()
                 .add("file", arguments.file)
                 .add("key_id", auth::key_name(step->about))
                 .add("keys", std::uint64_t{ring.size()})
                 .add("seals", auth::key_name_of(ring.sealing_id()))
                 .add("accepts_unsealed", ring.accepts_unsealed()));
  return kDone;
}

}  // namespace

int keygen(const KeygenArguments& given) {
  const int steps = static_cast<int>(given.add) + static_cast<int>(given.promote) +
                    static_cast<int>(given.drop) + static_cast<int>(given.withdraw);
  if (steps > 1)
    return print_error(kBadUsage, "give one of --add, --promote, --drop and --withdraw at a time");
  if (!given.key.empty() && !given.add) return print_error(kBadUsage, "--key is for --add");
  if (given.node) return keygen_node(given);
  KeygenArguments arguments = given;
  if (arguments.file.empty()) arguments.file = "/etc/tempo/key";
  if (steps > 0) return change_keys(arguments);
  const auth::Key key = auth::new_key();
  const std::string text = auth::key_file_text({{.key = key}});
  if (arguments.file == "-") {
    if (arguments.json)
      return print_error(kBadUsage, "--json does not print keys; give a file instead of -");
    print("{}", text);
    return kDone;
  }
  if (const auto written = write_key(arguments.file, text, arguments.force); !written)
    return print_error(
        kBadUsage,
        written.error() + (sys::read_file(arguments.file, kMaxFile).state == sys::FileState::absent
                               ? ""
                               : "; --add changes the key of a running cluster, "
                                 "--force replaces the file"));
  if (arguments.json)
    print_json(Json::object()
                   .add("file", arguments.file)
                   .add("key_id", auth::key_name(key))
                   .add("keys", std::uint64_t{1})
                   .add("seals", auth::key_name(key))
                   .add("accepts_unsealed", false));
  else
    print(
        "Key {} is in {}.\nCopy the file to every machine of the cluster (mode 0600), then run "
        "'systemctl reload tempod' there.\n",
        auth::key_name(key), arguments.file);
  return kDone;
}

}  // namespace tempo::cli
