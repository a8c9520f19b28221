// Encoding, sealing, opening and decoding of datagrams, and the examples of doc/reference/wire.md.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/hex.h"
#include "protocol/auth/keyring.h"
#include "protocol/wire/datagram.h"
#include "protocol/wire/tsp.h"

namespace tempo::auth {
namespace {

using Bytes = std::vector<std::byte>;

static_assert(kTagBytes == wire::kTagBytes);

Keyring example_ring() {
  Key key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i + 1);
  return Keyring(key);
}

wire::Datagram example(const Keyring& ring) {
  constexpr HostId kEarth{0x1001};
  constexpr Incarnation kIncarnation{7};
  const std::uint32_t key = ring.sealing_id();
  return {.header = {.cluster = wire::ClusterId{ring.cluster_id("lab", key)},
                     .sender = kEarth,
                     .incarnation = kIncarnation,
                     .key = wire::KeyId{key},
                     .number = 3,
                     .nonce = wire::Nonce{0x4e17d3a2605bc981}},
          .name = wire::Name("earth"),
          .body = wire::ElectionBody{.kind = 13,
                                     .reluctance = 3,
                                     .sequence = 2,
                                     .round = 5,
                                     .epoch_host = kEarth,
                                     .epoch_incarnation = kIncarnation,
                                     .subject = HostId{0x1002}},
          .time = wire::TimeBody{.bound = Nanos{1500},
                                 .timescale_generation = 1,
                                 .root = kEarth,
                                 .hops = 0,
                                 .synchronized = true}};
}

Bytes sealed(const wire::Datagram& datagram, const Keyring& ring) {
  std::array<std::byte, wire::kMaxBytes> buffer{};
  const std::size_t size = ring.seal(buffer, wire::write(datagram, buffer));
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size)};
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The bytes in groups, each with its offset and meaning.
std::string explained(std::span<const std::byte> bytes) {
  struct Group {
    std::size_t size;
    const char* meaning;
  };
  constexpr std::array kGroups{Group{4, "T, version 2, revision 2, flags"},
                               Group{4, "length, reserved"},
                               Group{8, "cluster"},
                               Group{8, "sender"},
                               Group{4, "incarnation"},
                               Group{4, "key id"},
                               Group{8, "number"},
                               Group{8, "nonce"},
                               Group{8, "challenge: a broadcast has none"},
                               Group{8, "response"},
                               Group{7, "name: earth"},
                               Group{6, "election: Loop, flags, reluctance 3, reserved"},
                               Group{8, "sequence"},
                               Group{8, "answers"},
                               Group{8, "epoch: round"},
                               Group{8, "epoch: host"},
                               Group{4, "epoch: incarnation"},
                               Group{8, "subject: the heir"},
                               Group{4, "subject's incarnation"},
                               Group{8, "age"},
                               Group{6, "time: synchronized, hops, reserved"},
                               Group{4, "scale"},
                               Group{8, "root"},
                               Group{8, "bound"},
                               Group{16, "authenticator"}};
  std::ostringstream text;
  text << "```\n";
  std::size_t at = 0;
  for (const Group& group : kGroups) {
    std::string line = std::to_string(at);
    line.insert(0, 3 - std::min<std::size_t>(line.size(), 3), ' ');
    line += "  " + hex(bytes.subspan(at, group.size), " ");
    line.resize(std::max<std::size_t>(line.size() + 2, 54), ' ');
    text << line << group.meaning << '\n';
    at += group.size;
  }
  EXPECT_EQ(at, bytes.size()) << "bytes without an explanation";
  text << "```\n";
  return text.str();
}

TEST(SealedDatagram, IsOpenedWithTheSameKey) {
  const Keyring ring = example_ring();
  const Bytes bytes = sealed(example(ring), ring);
  const wire::Header header = wire::parse_header(bytes).value();
  const auto opened = ring.open(bytes, std::to_underlying(header.key));
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(wire::parse(*opened).value(), example(ring));
}

TEST(SealedDatagram, MatchesTheExampleInTheDocument) {
  const std::string begin = "<!-- generated: example -->\n";
  std::string document = file_text(TEMPO_WIRE_DOC);
  const std::size_t mark = document.find(begin);
  ASSERT_NE(mark, std::string::npos);
  const std::size_t from = mark + begin.size();
  const std::size_t to = document.find("<!-- end: example -->", from);
  ASSERT_NE(to, std::string::npos);
  const std::string generated = explained(sealed(example(example_ring()), example_ring()));
  if (std::getenv("TEMPO_REWRITE") != nullptr) {
    document.replace(from, to - from, generated);
    std::ofstream(TEMPO_WIRE_DOC, std::ios::binary) << document;
    return;
  }
  EXPECT_EQ(document.substr(from, to - from), generated) << "run tools/rewrite";
}

TEST(TspDatagram, MatchesTheExampleInTheDocument) {
  std::array<std::byte, wire::tsp::kBytes> bytes{};
  wire::tsp::write({.type = wire::tsp::Type::adjtime,
                    .sequence = 0x1234,
                    .micros = -35'000,
                    .name = wire::Name("earth")},
                   bytes);
  const auto zeros = std::span(bytes).subspan(17);
  EXPECT_EQ(zeros.size(), 251);
  EXPECT_TRUE(std::ranges::all_of(zeros, [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_NE(file_text(TEMPO_WIRE_DOC).find("\n    " + hex(std::span(bytes).first(17), " ") + "\n"),
            std::string::npos);
}

}  // namespace
}  // namespace tempo::auth
