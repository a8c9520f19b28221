// The steps by which a cluster changes its key, or introduces its first one.
//
//   add       the new key opens; the old one still seals
//   promote   the new key seals; the old one still opens
//   drop      only the new key is left
//
// Machines that are at most one step apart open each other's datagrams, so each step may reach the
// machines in any order and at any pace, and the next step may begin when all have taken it. A
// cluster without a key takes the same steps: its old "key" is the line "no-key". `withdraw` takes
// `add` back.
//
// Each step is a function of the lines of one key file, the oldest first. An error says why the
// step cannot be taken and which command helps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/auth/keyring.h"

namespace tempo::auth {

using KeyLines = std::vector<KeyLine>;

// Empty `lines`: the machine has no key file, and this introduces the first key.
Result<KeyLines> add_key(const KeyLines& lines, const Key& key);
Result<KeyLines> promote_key(const KeyLines& lines);
Result<KeyLines> drop_key(const KeyLines& lines);
// Empty: the key file is to be removed.
Result<KeyLines> withdraw_key(const KeyLines& lines);

// The key that a machine with `lines` has to add from the key file of another machine; nullopt: it
// has all of them.
Result<std::optional<Key>> missing_key(const KeyLines& lines, const KeyLines& of_other);

// A key file with these lines and a comment for its reader.
std::string key_file_text(const KeyLines& lines);

}  // namespace tempo::auth
