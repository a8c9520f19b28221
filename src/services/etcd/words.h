// What is asked of etcd, and what it answers: its version 3 as JSON over HTTP.
//
// Keys and values travel as base64, numbers of 64 bits as texts. A lock is a directory of keys, one
// for each who has it or waits for it; the name of a key says whether it wants to share. Whoever's
// key was created first is first: etcd numbers every change, and the number at which a key was
// created never changes and is never given again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tempo::etcd {

inline constexpr std::size_t kMaxInLine = 1000;  // keys of one lock that are looked at

struct Question {
  std::string path;  // below the endpoint
  std::string body;
  bool urgent = true;  // a lease depends on how soon it is answered
};

// Where the keys of a cluster's locks are, and of one lock; both end with a slash. Slashes in names
// are escaped: no lock's keys are among another's.
std::string directory_of(std::string_view cluster);
std::string directory_of(std::string_view cluster, std::string_view name);
std::string key_of(std::string_view directory, bool shared, std::string_view lease,
                   std::uint64_t number);
// The name of the lock whose key this is; empty: it is none's.
std::string name_of(std::string_view cluster, std::string_view key);

Question grant_lease(std::int64_t seconds);
Question keep_alive(const std::string& lease);
Question revoke_lease(const std::string& lease);
Question confirm(const std::string& directory);  // a read that a majority stands behind
// Puts the key and reads who is in line, as one change.
Question enter(const std::string& directory, const std::string& key, const std::string& value,
               const std::string& lease);
Question look(const std::string& directory);
Question remove(const std::string& key);
Question watch(const std::string& directory);  // answered by a stream

// --- answers ---

struct Lease {
  std::string id;
  std::int64_t seconds = 0;  // 0: it has run out
  std::uint64_t term = 0;    // of the leader, as whoever answers knows it
};
Result<Lease> lease_of(const Json& answer);  // of grant_lease and keep_alive
Result<std::uint64_t> term_of(const Json& answer);

struct InLine {
  std::string key;
  bool shared = false;
  std::uint64_t created = 0;
};
// Of enter and look: in the order of creation, at most kMaxInLine.
Result<std::vector<InLine>> line_of(const Json& answer);

// Of one line of the stream: the keys that changed. Nothing changed when it says that it begins.
Result<std::vector<std::string>> changed_keys(const Json& answer);

// What etcd says is wrong; empty: nothing.
std::string complaint_in(const Json& answer);
bool lease_is_gone(std::string_view complaint);

}  // namespace tempo::etcd
