#include "cli/operations/keygen.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/common/daemon.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "protocol/auth/keyring.h"
#include "protocol/auth/node_keys.h"

namespace tempo::cli {
namespace {

constexpr std::size_t kMaxFile = 65536;  // bytes

std::string text_of(const std::vector<auth::Key>& keys) {
  std::string text =
      "# Key of a tempo cluster: the same file on every machine, mode 0600.\n"
      "# Datagrams are sealed with the first key and accepted under either. At most two keys.\n";
  for (const auth::Key& key : keys) text += auth::key_line(key) + '\n';
  return text;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// Writes the file atomically: `path` has either the whole new content or the previous one, and the
// mode is never other than 0600. Returns 0 or errno.
int write_file(const std::string& path, const std::string& text, bool replace) {
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);  // creates it with mode 0600
  if (file < 0) return errno;
  int error = 0;
  if (!write_all(file, text) || fsync(file) != 0) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  // link() fails if `path` exists; rename() replaces it.
  if (error == 0 && (replace ? rename(temporary.c_str(), path.c_str())
                             : link(temporary.c_str(), path.c_str())) != 0)
    error = errno;
  if (error != 0 || !replace) unlink(temporary.c_str());
  return error;
}

std::string error_text(const std::string& path, int error) {
  if (error == EEXIST)
    return fmt::format(
        "{} exists and was not changed; --add puts a new key before the existing one, --force "
        "replaces the file",
        path);
  if (error == EACCES || error == EPERM)
    return fmt::format("cannot write {} ({}); use sudo or give another file", path,
                       std::strerror(error));
  if (error == ENOENT)
    return fmt::format("cannot write {} ({}); create its directory first", path,
                       std::strerror(error));
  return fmt::format("cannot write {} ({}); give another file", path, std::strerror(error));
}

// Standard output has only the line for the node list, so that a pipe can append it to a file.
int keygen_node(const KeygenArguments& arguments) {
  if (arguments.add)
    return print_error(
        kBadUsage, "a machine has one signing key: --add is not for --node; --force replaces it");
  if (arguments.file == "-")
    return print_error(kBadUsage,
                       "a signing key must stay on its machine; give a file instead of -");
  const std::string path = arguments.file.empty() ? "/etc/tempo/node-key" : arguments.file;
  const auth::Key seed = auth::new_key();
  const std::string text = "# Signing key of this machine only, mode 0600. Do not copy it.\n" +
                           auth::node_key_line(seed) + '\n';
  const int error = write_file(path, text, arguments.force);
  if (error == EEXIST)
    return print_error(kBadUsage,
                       fmt::format("{} exists and was not changed; --force replaces it", path));
  if (error != 0) return print_error(kBadUsage, error_text(path, error));
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

}  // namespace

int keygen(const KeygenArguments& given) {
  if (given.node) return keygen_node(given);
  KeygenArguments arguments = given;
  if (arguments.file.empty()) arguments.file = "/etc/tempo/key";
  if (arguments.add && arguments.force)
    return print_error(kBadUsage,
                       "give --add, which keeps the old key, or --force, which does not");
  if (arguments.add && arguments.file == "-")
    return print_error(kBadUsage, "--add needs a file with the existing key; give it instead of -");
  std::vector<auth::Key> keys{auth::new_key()};
  if (arguments.add) {
    std::ifstream in(arguments.file, std::ios::binary);
    if (!in)
      return print_error(kBadUsage,
                         fmt::format("cannot read {} ({}); omit --add to write a first key",
                                     arguments.file, std::strerror(errno)));
    std::string old;
    for (char c = 0; old.size() <= kMaxFile && in.get(c);) old += c;
    const auto parsed = auth::parse_keys(old);
    if (!parsed)
      return print_error(kBadUsage,
                         fmt::format("{}: {}; correct the file, or replace it with --force",
                                     arguments.file, parsed.error()));
    keys.push_back(parsed->front());
  }
  const std::string text = text_of(keys);
  if (arguments.file == "-") {
    if (arguments.json)
      return print_error(kBadUsage, "--json does not print keys; give a file instead of -");
    print("{}", text);
    return kDone;
  }
  const int error = write_file(arguments.file, text, arguments.add || arguments.force);
  if (error != 0) return print_error(kBadUsage, error_text(arguments.file, error));
  const std::string id = fmt::format("{:08x}", auth::key_id(keys.front()));
  if (arguments.json)
    print_json(Json::object()
                   .add("file", arguments.file)
                   .add("key_id", id)
                   .add("keys", std::uint64_t{keys.size()}));
  else
    print(
        "Key {} is in {}{}.\nCopy the file to every machine of the cluster (mode 0600), then run "
        "'systemctl reload tempod' there.\n",
        id, arguments.file, keys.size() > 1 ? "; the previous key stays valid" : "");
  return kDone;
}

}  // namespace tempo::cli
