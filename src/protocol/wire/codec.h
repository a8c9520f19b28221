// Codec between datagrams and messages: decodes, authenticates and de-duplicates incoming
// datagrams; encodes, numbers and seals outgoing ones.
//
// With a key, the codec checks the authenticator before it uses any other byte, and it changes no
// state before it has parsed the whole datagram. Each datagram results in a message or in a
// DropReason, and is counted there.
//
// Datagrams name hosts by HostId, messages by NodeId; the codec owns the Directory that maps them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"
#include "base/units.h"
#include "protocol/auth/keyring.h"
#include "protocol/sync/node.h"
#include "protocol/wire/datagram.h"
#include "protocol/wire/directory.h"

namespace tempo::wire {

// Reason why the codec dropped a datagram.
enum class DropReason : std::uint8_t {
  malformed,  // the counters by Error have the details
  other_cluster,
  not_sealed,
  unknown_key,
  forged,
  replayed,           // number seen before in this incarnation, or too old to tell
  stale_incarnation,  // of an earlier incarnation of the sender
  own,                // our own broadcast, received by ourselves
  duplicate_host_id,  // another machine uses our host id
  too_many_hosts,     // the directory is full
  not_for_us,         // of another instance, or a request to another host
  count
};
std::string_view name_of(DropReason reason);

class Codec {
 public:
  struct Options {
    HostId self = kNoHost;
    Incarnation incarnation{};
    Name name;
    std::string cluster;  // name of the cluster
    auth::Keyring keys;
    std::uint8_t revision = kRevision;  // tests set another one to try how revisions interoperate
  };

  explicit Codec(Options options);

  // A message of the node, or a body for another part of the daemon.
  using Content = std::variant<node::Node::Message, DiagnosticBody, LockBody, VoterSetBody,
                               GroupBody, MutexBody, BeatBody>;

  struct Received {
    NodeId from = kNobody;
    bool sent_by_parent = false;  // a crash hint of tempod's parent, not from the host's own socket
    Content content{};
  };

  enum class Source : std::uint8_t { anywhere, elsewhere };

  // Decodes a datagram that arrived over `network` at `arrived`. Source::elsewhere means certainly
  // not from an address of this host; a duplicate of our host id is then detected even if its
  // incarnation equals ours.
  Result<Received, DropReason> decode(Instant now, std::uint8_t network, Instant arrived,
                                      std::span<const std::byte> bytes,
                                      Source source = Source::anywhere);

  // Writes the datagram to `out` and returns its size in bytes.
  std::size_t encode(const Content& content, std::span<std::byte, kMaxBytes> out);

  // Writes a Masterdown for this incarnation, which has ended. For the parent of a worker that
  // died.
  std::size_t crash_hint(std::span<std::byte, kMaxBytes> out);

  // Writes a broadcast that makes us known to another machine with our host id; 0: there is none.
  // The other machine may have started after our last broadcast. With a key it could take our
  // datagrams for recordings of its own earlier incarnation; this one names its present
  // incarnation, which no recording can.
  std::size_t notify_duplicate(std::span<std::byte, kMaxBytes> out);

  void set_keys(auth::Keyring keys) { options_.keys = std::move(keys); }

  const Directory& directory() const { return directory_; }
  Directory& directory() { return directory_; }
  // Node number of a host, assigned if it is new; kNobody: too many hosts.
  NodeId number_of(HostId host) { return directory_.number_of(host); }
  NodeId self() const { return self_; }
  bool sealed() const { return !options_.keys.empty(); }
  // Several datagrams have shown that another machine uses our host id.
  bool id_taken() const { return duplicates_seen_ >= kDuplicatesToReport; }

  // Revision of the last datagram decoded, if it was dropped only because of its revision; nullopt:
  // otherwise. With a key, only datagrams sealed with our key count.
  std::optional<std::uint8_t> incompatible_revision() const { return incompatible_revision_; }

  std::uint64_t accepted() const { return accepted_; }
  std::uint64_t sent() const { return number_; }
  std::uint64_t refused(DropReason reason) const {
    return refused_[static_cast<std::size_t>(reason)];
  }
  std::uint64_t malformed(Error error) const { return malformed_[static_cast<std::size_t>(error)]; }

 private:
  static constexpr int kDuplicatesToReport = 3;
  static constexpr std::size_t kRemembered = 1024;
  static constexpr std::uint64_t kParentNumbers = std::uint64_t{1} << 62;

  Result<Received, DropReason> examine(Instant now, std::uint8_t network, Instant arrived,
                                       std::span<const std::byte> bytes, Source source);
  Result<Content, DropReason> content_of(const Datagram& datagram, std::uint8_t network,
                                         Instant arrived);
  Result<Content, DropReason> election_message(const Datagram& datagram, const ElectionBody& body,
                                               std::uint8_t network);
  Result<Content, DropReason> sync_message(const SyncBody& body, std::uint8_t network,
                                           Instant arrived);
  void set_body(Datagram& datagram, const node::Node::Message& message) const;
  std::size_t write(Datagram& datagram, std::span<std::byte, kMaxBytes> out);
  static bool carries_name(const Datagram::Body& body);
  bool answers_us(const ElectionBody* election) const;
  bool sent_by_us(std::uint64_t number, std::span<const std::byte> bytes) const;
  std::unexpected<DropReason> refuse_malformed(Error error);
  void note_revision(std::span<const std::byte> bytes);
  ClusterId cluster(KeyId key) const;

  Options options_;
  Directory directory_;
  NodeId self_;
  std::uint64_t number_ = 0;                              // of the last datagram sent
  std::array<std::uint64_t, kRemembered> sent_hashes_{};  // of the last datagrams, by number
  int duplicates_seen_ = 0;              // datagrams of another machine with our host id
  Incarnation duplicate_incarnation_{};  // latest incarnation of that machine
  std::optional<std::uint8_t> incompatible_revision_;
  std::uint64_t accepted_ = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(DropReason::count)> refused_{};
  std::array<std::uint64_t, static_cast<std::size_t>(Error::count)> malformed_{};
};

}  // namespace tempo::wire
