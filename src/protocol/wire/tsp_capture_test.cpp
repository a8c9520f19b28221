// Captures of historical daemons, compared with tshark's reading; and our datagrams, read by
// tshark.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "protocol/wire/bytes.h"
#include "protocol/wire/tsp.h"
#include "protocol/wire/tsp_test_capture.h"

namespace tempo::wire::tsp {
namespace {

using Bytes = std::vector<std::byte>;

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Bytes bytes_of(const Datagram& datagram) {
  std::array<std::byte, kBytes> buffer{};
  write(datagram, buffer);
  return {buffer.begin(), buffer.end()};
}

// A line as tshark prints it; testdata/README.md lists the fields.
std::string line_of(std::size_t frame, const Datagram& datagram) {
  std::ostringstream line;
  line << frame << '\t' << int{std::to_underlying(datagram.type)} << '\t' << datagram.sequence
       << '\t';
  if (carries_time(datagram.type)) {
    const std::int64_t micros = (datagram.micros % 1'000'000 + 1'000'000) % 1'000'000;
    const std::int64_t seconds = (datagram.micros - micros) / 1'000'000;
    line << static_cast<std::uint32_t>(seconds) << '\t' << micros << '\t';
  } else {
    line << "\t\t";
  }
  if (datagram.type == Type::loop) line << int{datagram.hops};
  line << '\t' << datagram.name.text() << '\n';
  return line.str();
}

class Captures : public testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path stem_ = std::filesystem::path(TEMPO_TESTDATA) / GetParam();
  std::string file_ = file_text(stem_.string() + ".pcapng");
  std::vector<Captured> datagrams_ = Capture(std::as_bytes(std::span(file_))).udp(kPort);
};

TEST_P(Captures, AreParsedAsByTshark) {
  std::string text;
  for (const Captured& captured : datagrams_) {
    const auto datagram = parse(captured.payload);
    ASSERT_TRUE(datagram.has_value()) << captured.frame << ": " << name_of(datagram.error());
    text += line_of(captured.frame, *datagram);
  }
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text, file_text(stem_.string() + ".txt"));
}

// Every meaningful byte of the historical daemon equals ours.
TEST_P(Captures, AreWrittenIdentically) {
  ASSERT_FALSE(datagrams_.empty());
  for (const Captured& captured : datagrams_) {
    const Datagram datagram = parse(captured.payload).value();
    const Bytes ours = bytes_of(datagram);
    const auto same = [&](std::size_t from, std::size_t size) {
      return std::ranges::equal(captured.payload.subspan(from, size),
                                std::span(ours).subspan(from, size));
    };
    EXPECT_TRUE(same(0, 4)) << captured.frame;
    if (carries_time(datagram.type)) {
      EXPECT_TRUE(same(4, 8)) << captured.frame;
    }
    if (datagram.type == Type::loop) {
      EXPECT_TRUE(same(4, 1)) << captured.frame;
    }
    EXPECT_TRUE(same(12, datagram.name.text().size() + 1)) << captured.frame;
  }
}

INSTANTIATE_TEST_SUITE_P(Tsp, Captures,
                         testing::Values("classic-join-crash-election",
                                         "classic-mixed-76-and-268-bytes",
                                         "classic-partition-conflict-resolve",
                                         "classic-submaster-loop-setdate"),
                         [](const auto& capture) {
                           std::string name = capture.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(CaptureReader, SurvivesTruncation) {
  const std::string file =
      file_text(std::filesystem::path(TEMPO_TESTDATA) / "classic-mixed-76-and-268-bytes.pcapng");
  const auto bytes = std::as_bytes(std::span(file));
  std::size_t max_found = 0;
  for (std::size_t size = 0; size <= bytes.size(); size += 7) {
    // A copy, so that the sanitizer detects an access beyond its end.
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    max_found = std::max(max_found, Capture(cut).udp(kPort).size());
  }
  EXPECT_GT(max_found, 50);
}

// Every type, names from empty to the longest, times on both sides of 0.
std::vector<Datagram> samples() {
  std::vector<Datagram> all;
  const std::array<std::int64_t, 6> times{-35'000, -1,        0,
                                          999'999, 1'000'000, 1'794'770'693'258'145};
  for (std::uint8_t type = 1; type <= kLastType; ++type) {
    Datagram datagram{.type = Type{type}, .sequence = static_cast<std::uint16_t>(2730 * type)};
    datagram.name = Name(std::string(type == kLastType ? kMaxName : type - 1U, 'n'));
    if (datagram.type == Type::loop) datagram.hops = kHops;
    if (!carries_time(datagram.type)) all.push_back(datagram);
    for (std::size_t i = 0; carries_time(datagram.type) && i < times.size(); ++i) {
      datagram.micros = times[i];
      all.push_back(datagram);
    }
  }
  return all;
}

// A file in the older format pcap: IPv4 packets without a link layer.
Bytes pcap_of(const std::vector<Datagram>& datagrams) {
  Bytes file(24 + datagrams.size() * (16 + 28 + kBytes));
  Writer out(file);
  out.put(0xa1b2c3d4U);
  out.put(std::uint16_t{2});
  out.put(std::uint16_t{4});
  out.put(std::uint64_t{0});
  out.put(65535U);
  out.put(101U);  // LINKTYPE_RAW
  constexpr std::uint16_t kUdp = 8 + kBytes;
  constexpr std::uint16_t kIp = 20 + kUdp;
  for (const Datagram& datagram : datagrams) {
    out.put(std::uint64_t{0});
    out.put(std::uint32_t{kIp});
    out.put(std::uint32_t{kIp});
    out.put(std::uint16_t{0x4500});
    out.put(kIp);
    out.put(std::uint32_t{0});
    out.put(std::uint32_t{0x40110000});  // TTL 64, UDP, no checksum
    out.put(std::uint32_t{0x0a000001});
    out.put(std::uint32_t{0x0a0000ff});
    out.put(kPort);
    out.put(kPort);
    out.put(kUdp);
    out.put(std::uint16_t{0});
    out.put_bytes(bytes_of(datagram));
  }
  return file;
}

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), got);
  pclose(pipe);
  return text;
}

TEST(Tshark, ReadsOurDatagrams) {
  if (std::system("command -v tshark >/dev/null 2>&1") != 0) GTEST_SKIP() << "tshark is missing";
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) /
                                     ("tempo_tsp_" + std::to_string(getpid()) + ".pcap");
  const Bytes file = pcap_of(samples());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  const std::string read = output_of(
      "tshark -n -r '" + path.string() +
      "' -Y tsp -T fields -e frame.number -e tsp.type -e tsp.sequence -e tsp.sec -e tsp.usec "
      "-e tsp.hopcnt -e tsp.name 2>/dev/null");
  std::filesystem::remove(path);

  std::string expected;
  std::size_t frame = 0;
  for (const Datagram& datagram : samples()) expected += line_of(++frame, datagram);
  EXPECT_EQ(read, expected);
}

}  // namespace
}  // namespace tempo::wire::tsp
