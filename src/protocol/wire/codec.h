// Codec between datagrams and messages: decodes, authenticates and de-duplicates incoming
// datagrams; encodes, numbers and seals outgoing ones.
//
// With a key, the codec checks the authenticator before it uses any other byte, and it changes no
// state before it has parsed the whole datagram. Each datagram results in a message or in a
// DropReason, and is counted there.
//
// The codec believes a process of another host only while it is live (liveness.h). A datagram of
// another sender is held, and the sender is asked: `take_reply` has the question. When it has
// answered, `take_released` has the datagrams that were held.
//
// Datagrams name hosts by HostId, messages by NodeId; the codec owns the Directory that maps them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
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
#include "protocol/wire/liveness.h"

namespace tempo::wire {

// Reason why the codec dropped a datagram.
enum class DropReason : std::uint8_t {
  malformed,  // the counters by Error have the details
  other_cluster,
  not_sealed,
  unknown_key,
  forged,
  replayed,           // number seen before in this incarnation, or too old to tell
  not_live,           // the sender must repeat a challenge first; it may be delivered after that
  own,                // our own broadcast, received by ourselves
  duplicate_host_id,  // another machine uses our host id
  too_many_hosts,     // a host has no node number (directory.h)
  not_for_us,         // of another instance, or a request to another host
  count
};
std::string_view name_of(DropReason reason);

class Codec {
 public:
  struct Options {
    HostId self = kNoHost;
    Incarnation incarnation{};
    Nonce nonce{};
    Name name;
    std::string cluster;  // name of the cluster
    auth::Keyring keys;
    auth::Key secret{};                 // random; of this process alone
    Nanos exchange_interval{0};         // between two exchanges of a master and its follower
    std::uint8_t revision = kRevision;  // tests set another one to try how revisions interoperate
  };

  explicit Codec(Options options);

  // A message of the node, or a body for another part of the daemon.
  using Content =
      std::variant<node::Node::Message, DiagnosticBody, LockBody, VoterSetBody, GroupBody,
                   MutexBody, BeatBody, HelloBody, AnnouncementBody, MembershipBody>;

  struct Received {
    NodeId from = kNobody;  // kNobody: a question of a sender that is not live
    // The sender has repeated a challenge in this datagram: it comes from its own address.
    bool proved = false;
    Content content{};
  };

  // Decodes a datagram that arrived over `network` at `arrived`.
  Result<Received, DropReason> decode(Instant now, std::uint8_t network, Instant arrived,
                                      std::span<const std::byte> bytes);
  // Writes a datagram for the source address of the last datagram decoded; 0: there is none.
  std::size_t take_reply(Instant now, std::span<std::byte, kMaxBytes> out);
  // The next message that the last datagram decoded has released: it comes before that datagram.
  std::optional<Received> take_released();
  // Writes a question to a live host, whose address may have changed; 0: it was just asked.
  std::size_t ask(Instant now, std::uint8_t network, NodeId host,
                  std::span<std::byte, kMaxBytes> out);

  // Writes a broadcast to `out` and returns its size in bytes.
  std::size_t encode(const Content& content, std::span<std::byte, kMaxBytes> out);
  // The same for a datagram to one host.
  std::size_t encode(Instant now, NodeId to, const Content& content,
                     std::span<std::byte, kMaxBytes> out);

  // Writes a Masterdown for this incarnation, which has ended. For the parent of a worker that
  // died. The others believe it while the worker is live for them; no recording of it concerns
  // another incarnation.
  std::size_t crash_hint(std::span<std::byte, kMaxBytes> out);

  void set_keys(auth::Keyring keys);

  const Directory& directory() const { return directory_; }
  Directory& directory() { return directory_; }
  // Node number of a host, assigned if it is new; kNobody: it has none.
  NodeId number_of(HostId host) { return directory_.number_of(host); }
  NodeId self() const { return self_; }
  const auth::Keyring& keys() const { return options_.keys; }
  // Another process with our host id has repeated a challenge.
  bool id_taken() const { return id_taken_; }

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
  static constexpr std::uint64_t kParentNumbers = std::uint64_t{1} << 62;

  struct Reply {
    HelloBody::Kind kind{};
    Process to{};
    std::uint32_t changes = 0;   // of its host
    std::uint64_t response = 0;  // the challenge that it repeats
  };

  Result<Received, DropReason> examine(Instant now, std::uint8_t network, Instant arrived,
                                       std::span<const std::byte> bytes);
  Result<Received, DropReason> receive(Instant now, const Liveness::Held& held);
  Result<Received, DropReason> receive_own_id(Instant now, std::uint8_t network,
                                              const Datagram& datagram);
  Result<Received, DropReason> receive_hello(Instant now, std::uint8_t network,
                                             const Datagram& datagram);
  Directory::Host* believe(Instant now, std::uint8_t network, const Header& header, bool proved);
  void release(Instant now, std::uint8_t network, const Process& process);
  void ask(Instant now, std::uint8_t network, const Process& process);
  Result<Content, DropReason> content_of(const Datagram& datagram, std::uint8_t network,
                                         Instant arrived);
  Result<Content, DropReason> election_message(const Datagram& datagram, const ElectionBody& body,
                                               std::uint8_t network);
  Result<Content, DropReason> sync_message(const SyncBody& body, std::uint8_t network,
                                           Instant arrived);
  void set_content(Datagram& datagram, const Content& content) const;
  void set_body(Datagram& datagram, const node::Node::Message& message) const;
  std::size_t write(Datagram& datagram, std::span<std::byte, kMaxBytes> out);
  static bool carries_name(const Datagram::Body& body);
  std::unexpected<DropReason> refuse_malformed(Error error);
  void note_revision(std::span<const std::byte> bytes);
  ClusterId cluster(KeyId key) const;

  // The id of the cluster under one of our keys; a hash, computed once for each key.
  struct ClusterOfKey {
    KeyId key = kNoKey;
    ClusterId cluster{};
  };

  Options options_;
  std::vector<ClusterOfKey> clusters_;  // one for each line of the keyring
  Directory directory_;
  NodeId self_;
  Liveness liveness_;
  std::uint64_t number_ = 0;       // of the last datagram sent
  std::optional<Reply> reply_;     // to the last datagram decoded
  std::deque<Received> released_;  // by the last datagram decoded; at most kMaxHeldOfOne
  bool id_taken_ = false;
  std::optional<std::uint8_t> incompatible_revision_;
  std::uint64_t accepted_ = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(DropReason::count)> refused_{};
  std::array<std::uint64_t, static_cast<std::size_t>(Error::count)> malformed_{};
};

}  // namespace tempo::wire
