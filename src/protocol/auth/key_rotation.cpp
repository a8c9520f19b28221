#include "protocol/auth/key_rotation.h"

#include <algorithm>

namespace tempo::auth {
namespace {

std::unexpected<std::string> only_one(const KeyLines& lines) {
  return std::unexpected("key " + key_name(lines.front().key) +
                         " is the only one; run 'tempo keygen --add' first");
}

bool has(const KeyLines& lines, const Key& key) {
  return std::ranges::find(lines, key, &KeyLine::key) != lines.end();
}

}  // namespace

Result<KeyLines> add_key(const KeyLines& lines, const Key& key) {
  if (lines.size() == kMaxKeys)
    return std::unexpected(
        "a change from " + key_name(lines.front().key) + " to " + key_name(lines.back().key) +
        (lines.back().role == KeyRole::seal
             ? " is not finished; run 'tempo keygen --drop' first"
             : " is not finished; run 'tempo keygen --promote' and then '--drop' first, or take "
               "it back with '--withdraw'"));
  KeyLines added = lines.empty() ? KeyLines{KeyLine{}} : lines;
  added.push_back({.key = key, .role = KeyRole::open});
  return added;
}

Result<KeyLines> promote_key(const KeyLines& lines) {
  if (lines.size() == 1) return only_one(lines);
  if (lines.back().role == KeyRole::seal)
    return std::unexpected("key " + key_name(lines.back().key) +
                           " seals already; 'tempo keygen --drop' is the last step");
  KeyLines promoted = lines;
  promoted.front().role = KeyRole::open;
  promoted.back().role = KeyRole::seal;
  return promoted;
}

Result<KeyLines> drop_key(const KeyLines& lines) {
  if (lines.size() == 1)
    return std::unexpected("key " + key_name(lines.front().key) +
                           " is the only one and seals; there is nothing to drop");
  if (lines.front().role == KeyRole::seal)
    return std::unexpected("the old key (" + key_name(lines.front().key) +
                           ") still seals; run 'tempo keygen --promote' first, or take the new key "
                           "back with '--withdraw'");
  return KeyLines{lines.back()};
}

Result<KeyLines> withdraw_key(const KeyLines& lines) {
  if (lines.size() == 1) return only_one(lines);
  if (lines.back().role == KeyRole::seal)
    return std::unexpected("key " + key_name(lines.back().key) +
                           " seals already and is not taken back; 'tempo keygen --drop' is the "
                           "last step");
  if (key_id(lines.front().key) == 0) return KeyLines{};
  return KeyLines{lines.front()};
}

Result<std::optional<Key>> missing_key(const KeyLines& lines, const KeyLines& of_other) {
  if (lines.empty() && !has(of_other, Key{}))
    return std::unexpected(
        std::string("that cluster demands a key already; copy the whole file to this machine"));
  std::optional<Key> missing;
  for (const KeyLine& line : of_other) {
    if (key_id(line.key) == 0 || has(lines, line.key)) continue;
    if (missing)
      return std::unexpected(
          std::string("both keys are unknown here, so this machine is in another cluster; copy the "
                      "whole file if it is not"));
    missing = line.key;
  }
  return missing;
}

std::string key_file_text(const KeyLines& lines) {
  std::string text =
      "# Keys of a tempo cluster, mode 0600. Datagrams are sent with the key that seals and "
      "accepted\n"
      "# under every key. 'tempo keygen --add', '--promote' and '--drop' change them.\n";
  for (const KeyLine& line : lines) text += text_of(line) + '\n';
  return text;
}

}  // namespace tempo::auth
