// Between bytes and messages: what comes in is opened, checked and translated, what goes out is
// translated, numbered and sealed.
//
// Nothing that arrives is believed before its seal is (when there is a key), and nothing changes
// before all of it is understood. Each datagram ends in a message for the node or in one of the
// named reasons why not, and is counted there.
//
// Hosts on the wire, node numbers inside: the Directory is kept here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/units.h"
#include "protocol/auth/keyring.h"
#include "protocol/sync/node.h"
#include "protocol/wire/datagram.h"
#include "protocol/wire/directory.h"

namespace tempo::wire {

// Why a datagram was not for the node.
enum class DropReason : std::uint8_t {
  malformed,  // see the counters by Error
  other_cluster,
  not_sealed,
  unknown_key,
  forged,
  replayed,           // this number of this life was seen, or is too old to tell
  stale_incarnation,  // of a life that is over
  own,                // our own broadcast came back
  duplicate_host_id,  // another machine has our id
  too_many_hosts,
  not_for_us,  // another lock or group
  count
};
std::string_view name_of(DropReason refusal);

class Codec {
 public:
  struct Options {
    HostId self = kNoHost;
    Incarnation incarnation{};
    Name name;
    std::string cluster;  // its name
    auth::Keyring keys;
    std::uint8_t revision = kRevision;  // another one: to try how revisions get on
  };

  explicit Codec(Options options);

  struct Received {
    NodeId from = kNobody;
    node::Node::Message message;
    bool sent_by_parent = false;  // a crash hint: it did not come from the host's own socket
    // With one of these there is no message: it is not for the node.
    std::optional<DiagnosticBody> word{};
    std::optional<LockBody> lock{};
    std::optional<VoterSetBody> voter_set{};
    std::optional<GroupBody> group{};
    std::optional<MutexBody> bounded_delay{};
    std::optional<BeatBody> beat{};
  };

  enum class Source : std::uint8_t { anywhere, elsewhere };

  // What this datagram, which came in over `network` at `arrived`, says. From `elsewhere`:
  // certainly not from an address of ours, so that a twin is known even if its life has the number
  // of ours.
  Result<Received, DropReason> decode(Instant now, std::uint8_t network, Instant arrived,
                                      std::span<const std::byte> bytes,
                                      Source source = Source::anywhere);

  // The datagram for a message; the number of its bytes.
  std::size_t encode(const node::Node::Message& message, std::span<std::byte, kMaxBytes> out);

  std::size_t encode(const DiagnosticBody& word, std::span<std::byte, kMaxBytes> out);
  std::size_t encode(const LockBody& lock, std::span<std::byte, kMaxBytes> out);
  std::size_t encode(const VoterSetBody& voter_set, std::span<std::byte, kMaxBytes> out);
  std::size_t encode(const GroupBody& group, std::span<std::byte, kMaxBytes> out);
  std::size_t encode(const MutexBody& bounded_delay, std::span<std::byte, kMaxBytes> out);
  std::size_t encode(const BeatBody& beat, std::span<std::byte, kMaxBytes> out);

  // The datagram that says, for this host's life that has just ended, that it was master no more.
  // For the parent of a process that died.
  std::size_t crash_hint(std::span<std::byte, kMaxBytes> out);

  // For everybody, now and then while a twin is about: nothing, or a datagram that lets the twin
  // know of us, who may not have heard what we broadcast before it ran. With a key our words may
  // look to it like its own of an earlier life, which anybody may have recorded; that we name its
  // present life shows that we are not that.
  std::size_t word_to_twin(std::span<std::byte, kMaxBytes> out);

  void set_keys(auth::Keyring keys) { options_.keys = std::move(keys); }

  const Directory& directory() const { return directory_; }
  // Of a host that is spoken of; kNobody if there are too many.
  NodeId number_of(HostId host);
  NodeId self() const { return self_; }
  bool sealed() const { return !options_.keys.empty(); }
  // Another machine has been heard with our id, not only once.
  bool id_taken() const { return strangers_ >= kStrangersToBelieve; }

  // Of the datagram last opened, if all that was wrong with it is that its sender is too old or too
  // new for us; with a key only if it has ours.
  std::optional<std::uint8_t> incompatible_revision() const { return incompatible_revision_; }

  std::uint64_t accepted() const { return accepted_; }
  std::uint64_t sent() const { return number_; }
  std::uint64_t refused(DropReason refusal) const {
    return refused_[static_cast<std::size_t>(refusal)];
  }
  std::uint64_t malformed(Error error) const { return malformed_[static_cast<std::size_t>(error)]; }

 private:
  static constexpr int kStrangersToBelieve = 3;
  static constexpr std::size_t kRemembered = 1024;
  static constexpr std::uint64_t kParentsNumbers = std::uint64_t{1} << 62;

  Result<Received, DropReason> examine(Instant now, std::uint8_t network, Instant arrived,
                                       std::span<const std::byte> bytes, Source source);
  Result<node::Node::Message, DropReason> translate(const Datagram& datagram, std::uint8_t network,
                                                    Instant arrived);
  // A datagram with this body and no other.
  template <class Body>
  std::size_t encode_only(std::optional<Body> Datagram::* place, const Body& body,
                          std::span<std::byte, kMaxBytes> out);
  std::size_t write(Datagram& datagram, std::span<std::byte, kMaxBytes> out);
  static bool says_name(const Datagram& datagram);
  bool answers_us(const Datagram& datagram) const;
  bool said_by_us(std::uint64_t number, std::span<const std::byte> bytes) const;
  std::unexpected<DropReason> refuse_malformed(Error error);
  void note_revision(std::span<const std::byte> bytes);
  ClusterId cluster(KeyId key) const;

  Options options_;
  Directory directory_;
  NodeId self_;
  std::uint64_t number_ = 0;
  std::array<std::uint64_t, kRemembered> said_{};  // hashes of the newest, by number
  int strangers_ = 0;
  Incarnation twins_life_{};  // the latest heard with our id
  std::optional<std::uint8_t> incompatible_revision_;
  std::uint64_t accepted_ = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(DropReason::count)> refused_{};
  std::array<std::uint64_t, static_cast<std::size_t>(Error::count)> malformed_{};
};

}  // namespace tempo::wire
