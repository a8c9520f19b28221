// Requests and answers of etcd: API version 3 as JSON over HTTP.
//
// Keys and values are base64, 64-bit numbers are strings. A lock is a directory of keys, one for
// each holder or waiter; the name of a key says whether it wants shared access. The key that was
// created first is first: etcd numbers every change, and the creation revision of a key never
// changes and is never reused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tempo::etcd {

inline constexpr std::size_t kMaxQueue = 1000;  // most keys of one lock that are read

struct Request {
  std::string path;  // path after the endpoint
  std::string body;
  bool urgent = true;  // a lease depends on a quick answer
};

// Directory of all locks of a cluster, and of one lock; both end with a slash. Slashes in names are
// escaped, so the keys of two locks never mix.
std::string directory_of(std::string_view cluster);
std::string directory_of(std::string_view cluster, std::string_view name);
std::string key_of(std::string_view directory, bool shared, std::string_view lease,
                   std::uint64_t number);
// Name of the lock to which this key belongs; empty: none.
std::string name_of(std::string_view cluster, std::string_view key);

Request grant_lease(std::int64_t seconds);
Request keep_alive(const std::string& lease);
Request revoke_lease(const std::string& lease);
Request confirm(const std::string& directory);  // a linearizable read
// Creates the key and reads the queue, in one transaction.
Request enter(const std::string& directory, const std::string& key, const std::string& value,
              const std::string& lease);
Request look(const std::string& directory);
Request remove(const std::string& key);
Request watch(const std::string& directory);  // the answer is a stream

// --- answers ---

struct Lease {
  std::string id;
  std::int64_t seconds = 0;  // remaining time; 0: expired
  std::uint64_t term = 0;    // Raft term known to the member that answered
};
Result<Lease> lease_of(const Json& answer);  // answer to grant_lease or keep_alive
Result<std::uint64_t> term_of(const Json& answer);

struct QueueEntry {
  std::string key;
  bool shared = false;
  std::uint64_t created = 0;
};
// Answer to enter or look: the queue in the order of creation, at most kMaxQueue.
Result<std::vector<QueueEntry>> queue_of(const Json& answer);

// One line of the stream: the changed keys. The first line of a stream has none.
Result<std::vector<std::string>> changed_keys(const Json& answer);

// Error message of etcd; empty: none.
std::string error_in(const Json& answer);
bool lease_expired(std::string_view error);

}  // namespace tempo::etcd
