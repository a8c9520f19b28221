// Dialogues with recorded daemons of 4.3BSD: this host takes the part of one host of a capture,
// hears what that host heard, at the times of the capture, and must answer as that host did.
//
// Only reactions are compared: Ack, Masterack, Accept, Refuse, Slaveup and forwarded Loops. When a
// host speaks by itself (an election, a round), the captures show its random timers and not its
// rules.
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine/machine_harness.h"
#include "protocol/classic/classic_host.h"
#include "protocol/wire/tsp_test_capture.h"

namespace tempo::classic {
namespace {

using wire::tsp::Datagram;
using wire::tsp::Type;

constexpr std::uint32_t kLastByte = 0xff;
constexpr std::uint32_t kSecondNetwork = 0x0a620000;  // 10.98.0.0

struct Part {
  const char* name;  // of the test
  const char* capture;
  std::string_view host;
  std::uint32_t address;  // last byte of its addresses
  std::size_t from, to;   // frames compared
  std::uint8_t networks = 1;
  bool master = false;  // it leads when the part begins
  // A frame of the recorded host that is not compared: a Loop that had waited in its queue.
  std::size_t skipped = 0;
};

class Recorded : public MachineHarness<ClassicHost> {
 public:
  explicit Recorded(const Part& part) : part_(part) {
    draw().set_share(1);  // the longest election timer: this host calls no election by itself
    make(ClassicHost::Identity{.self = NodeId{part.address},
                               .incarnation = Incarnation{1},
                               .name = wire::Name(part.host),
                               .networks = part.networks},
         rules_, Options{.setdate = true}, clock::SteeredClock(now(), WallTime{1'794'770'000s}, 0));
  }

  std::string text_of(const Output<ClassicHost>& output) override {
    if (output.kind != OutputKind::send && output.kind != OutputKind::broadcast) return "";
    if (output.message.kind != Packet::Kind::tsp) return "";
    const Datagram& datagram = output.message.datagram;
    expected_answer_ = datagram.type == Type::ack || datagram.type == Type::masterack
                           ? expected_answer_
                           : datagram.sequence;
    if (datagram.type == Type::masterreq) asked_[output.message.network] = datagram.sequence;
    return line_of(datagram, output.to == kStranger);
  }

  // A reaction as text; empty: not compared. The number of an Ack counts: it echoes the question.
  std::string line_of(const Datagram& datagram, bool to_stranger) const {
    switch (datagram.type) {
      case Type::ack:
        // To a control program: 4.3BSD sends an arbitrary number, this host echoes the question.
        return to_stranger ? fmt::format("ack of {}", datagram.name.text())
                           : fmt::format("ack {}", datagram.sequence);
      case Type::masterack:
        return fmt::format("masterack {}", datagram.sequence);
      case Type::accept:
      case Type::refuse:
      case Type::slaveup:
        return std::string(wire::tsp::name_of(datagram.type));
      case Type::loop:
        return datagram.name == wire::Name(part_.host)
                   ? ""
                   : fmt::format("loop {} {}", datagram.name.text(), datagram.hops);
      default:
        return "";
    }
  }

  Lines hear(const wire::Captured& captured, Datagram datagram) {
    // It answers our message, which has another number than the recorded one.
    const auto network =
        static_cast<std::uint8_t>((captured.source & ~kLastByte) == kSecondNetwork ? 1 : 0);
    const bool in_turn = captured.source_port == wire::tsp::kPort;
    if (datagram.type == Type::ack) datagram.sequence = expected_answer_;
    if (datagram.type == Type::masterack) datagram.sequence = asked_[network];
    return receive(in_turn ? NodeId{captured.source & kLastByte} : kStranger,
                   {.network = network, .datagram = datagram});
  }

 private:
  election::Rules rules_{
      .timing = *election::profile("classic"), .repeats = 0, .variant = ClassicHost::variant()};
  Part part_;
  std::uint16_t expected_answer_ = 0;
  std::map<std::uint8_t, std::uint16_t> asked_;
};

std::string bytes_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class RecordedPeers : public testing::TestWithParam<Part> {};

TEST_P(RecordedPeers, AreAnsweredAsByTheRecordedHost) {
  const Part& part = GetParam();
  const std::string file = bytes_of(std::filesystem::path(TEMPO_TESTDATA) / "../../wire/testdata" /
                                    (std::string(part.capture) + ".pcapng"));
  const auto frames = wire::Capture(std::as_bytes(std::span(file))).udp(wire::tsp::kPort);
  Recorded host(part);
  Lines theirs;
  Lines ours;
  const auto keep = [](Lines& all, Lines lines) {
    std::ranges::move(lines, std::back_inserter(all));
  };
  std::uint64_t last = 0;
  for (const wire::Captured& captured : frames) {
    const Datagram datagram = wire::tsp::parse(captured.payload).value();
    const bool own =
        (captured.source & kLastByte) == part.address && captured.source_port == wire::tsp::kPort;
    const std::uint32_t target = captured.target & kLastByte;
    const bool heard = !own && (target == part.address || target == kLastByte);
    if (last == 0) {
      // It starts when the recorded host did.
      if (captured.frame < part.from) continue;
      host.start();
      if (part.master) {
        (void)host.pass(7s);
        ASSERT_EQ(host.machine().network(0)->state(), election::State::master);
      }
    } else {
      keep(ours, host.pass(Nanos{static_cast<Nanos::rep>(captured.at - last)}));
    }
    last = captured.at;
    if (captured.frame > part.to) break;
    if (own && captured.frame != part.skipped) {
      const std::string line = host.line_of(
          datagram, target == 4 && datagram.name.text() != "h4" && datagram.type == Type::ack);
      if (!line.empty()) theirs.push_back(line);
    }
    if (heard) keep(ours, host.hear(captured, datagram));
  }
  EXPECT_FALSE(theirs.empty());
  EXPECT_EQ(joined(ours), joined(theirs));
}

INSTANTIATE_TEST_SUITE_P(
    Captures, RecordedPeers,
    testing::Values(
        // Slave h3: joins, is set and adjusted, accepts a candidate and follows it.
        Part{.name = "slave_in_an_election",
             .capture = "classic-join-crash-election",
             .host = "h3",
             .address = 3,
             .from = 13,
             .to = 240},
        // Slave h3 beside a daemon that sends 268 bytes.
        Part{.name = "slave_of_both_lengths",
             .capture = "classic-mixed-76-and-268-bytes",
             .host = "h3",
             .address = 3,
             .from = 13,
             .to = 58},
        // Slave h2 of the master that wins the conflict.
        Part{.name = "slave_in_a_conflict",
             .capture = "classic-partition-conflict-resolve",
             .host = "h2",
             .address = 2,
             .from = 13,
             .to = 79},
        // Master h3 that loses the conflict.
        Part{.name = "master_in_a_conflict",
             .capture = "classic-partition-conflict-resolve",
             .host = "h3",
             .address = 3,
             .from = 27,
             .to = 40,
             .master = true},
        // Submaster h2: slave in one network, master in the other. 4.3BSD reads its datagrams only
        // after it has taken over the second network, and so forwards a Loop that is 6 s old.
        Part{.name = "submaster",
             .capture = "classic-submaster-loop-setdate",
             .host = "h2",
             .address = 2,
             .from = 7,
             .to = 59,
             .networks = 3,
             .skipped = 21}),
    [](const auto& part) { return std::string(part.param.name); });

}  // namespace
}  // namespace tempo::classic
