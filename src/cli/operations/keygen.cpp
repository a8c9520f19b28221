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
#include "protocol/auth/keyring.h"
#include "protocol/auth/node_keys.h"

namespace tempo::cli {
namespace {

constexpr std::size_t kMaxFile = 65536;

std::string text_of(const std::vector<auth::Key>& keys) {
  std::string text =
      "# The key of a tempo cluster: the same file on every machine, mode 0600.\n"
      "# The first key seals, each one opens; at most two.\n";
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

// Either the whole new file is at `path` or what was there before; never another mode than 0600.
// The errno of what went wrong, or 0.
int put_in_place(const std::string& path, const std::string& text, bool replace) {
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);  // makes it with mode 0600
  if (file < 0) return errno;
  int error = 0;
  if (!write_all(file, text) || fsync(file) != 0) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  // A link never takes the place of a file; a rename does.
  if (error == 0 && (replace ? rename(temporary.c_str(), path.c_str())
                             : link(temporary.c_str(), path.c_str())) != 0)
    error = errno;
  if (error != 0 || !replace) unlink(temporary.c_str());
  return error;
}

std::string cure_of(const std::string& path, int error) {
  if (error == EEXIST)
    return fmt::format(
        "{} is there already and stays as it is; --add puts a new key before it, "
        "--force replaces it",
        path);
  if (error == EACCES || error == EPERM)
    return fmt::format("{} cannot be written ({}); use sudo or give another file", path,
                       std::strerror(error));
  if (error == ENOENT)
    return fmt::format("{} cannot be written ({}); make its directory first", path,
                       std::strerror(error));
  return fmt::format("{} cannot be written ({}); give another file", path, std::strerror(error));
}

// The line for the list is all that is printed on standard output, so that it can be appended.
int keygen_node(const KeygenArguments& arguments) {
  if (arguments.add)
    return print_error(kBadUsage, "a machine has one signing key; --force replaces it");
  if (arguments.file == "-")
    return print_error(kBadUsage, "a signing key stays on its machine; give a file instead of -");
  const std::string path = arguments.file.empty() ? "/etc/tempo/node-key" : arguments.file;
  const auth::Key seed = auth::new_key();
  const std::string text = "# The signing key of this machine alone, mode 0600. Do not copy it.\n" +
                           auth::node_key_line(seed) + '\n';
  const int error = put_in_place(path, text, arguments.force);
  if (error == EEXIST)
    return print_error(kBadUsage, fmt::format("{} is there already and stays as it is; --force "
                                              "replaces it",
                                              path));
  if (error != 0) return print_error(kBadUsage, cure_of(path, error));
  const std::string line = auth::node_list_line(auth::public_of(seed));
  if (arguments.json) {
    fmt::print("{}", Json::object().add("file", path).add("public", line).text());
    return kDone;
  }
  fmt::print("{}\n", line);
  fmt::print(stderr,
             "The key is in {}. Put the line above into the node list of every machine, name both "
             "files under [groups],\nand restart tempod.\n",
             path);
  return kDone;
}

}  // namespace

int keygen(const KeygenArguments& given) {
  if (given.node) return keygen_node(given);
  KeygenArguments arguments = given;
  if (arguments.file.empty()) arguments.file = "/etc/tempo/key";
  if (arguments.add && arguments.force)
    return print_error(kBadUsage, "--add keeps the old key and --force does not; give one of them");
  if (arguments.add && arguments.file == "-")
    return print_error(kBadUsage, "--add needs the file whose key stays valid");
  std::vector<auth::Key> keys{auth::new_key()};
  if (arguments.add) {
    std::ifstream in(arguments.file, std::ios::binary);
    if (!in)
      return print_error(kBadUsage,
                         fmt::format("{} cannot be read ({}); without --add a first key is written",
                                     arguments.file, std::strerror(errno)));
    std::string old;
    for (char c = 0; old.size() <= kMaxFile && in.get(c);) old += c;
    const auto parsed = auth::parse_keys(old);
    if (!parsed)
      return print_error(kBadUsage, fmt::format("{}: {}; mend it, or write a new one with --force",
                                                arguments.file, parsed.error()));
    keys.push_back(parsed->front());
  }
  const std::string text = text_of(keys);
  if (arguments.file == "-") {
    if (arguments.json)
      return print_error(kBadUsage, "--json tells about a file; give one instead of -");
    fmt::print("{}", text);
    return kDone;
  }
  const int error = put_in_place(arguments.file, text, arguments.add || arguments.force);
  if (error != 0) return print_error(kBadUsage, cure_of(arguments.file, error));
  const std::string id = fmt::format("{:08x}", auth::key_id(keys.front()));
  if (arguments.json)
    fmt::print("{}", Json::object()
                         .add("file", arguments.file)
                         .add("key_id", id)
                         .add("keys", std::uint64_t{keys.size()})
                         .text());
  else
    fmt::print(
        "Key {} is in {}{}.\nCopy the file to every machine of the cluster (mode 0600), then "
        "'systemctl reload tempod' there.\n",
        id, arguments.file, keys.size() > 1 ? ", before the old one, which stays valid" : "");
  return kDone;
}

}  // namespace tempo::cli
