// This version reads what earlier versions wrote: state directories, time pages and datagrams in
// the directories beside this file, kept by tools/write-formats (doc/reference/compatibility.md).
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "api/page.h"
#include "daemon/drivers/lock_record_file.h"
#include "daemon/state.h"
#include "protocol/auth/keyring.h"
#include "protocol/wire/datagram.h"

namespace tempo {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint8_t value = 0;
    const char* const at = hex.data() + 2 * i;
    EXPECT_EQ(std::from_chars(at, at + 2, value, 16).ptr, at + 2) << hex;
    bytes[i] = std::byte{value};
  }
  return bytes;
}

std::vector<std::vector<std::byte>> lines_of(const fs::path& path) {
  std::vector<std::vector<std::byte>> all;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) all.push_back(bytes_of(line));
  return all;
}

std::vector<std::string> versions() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(TEMPO_FORMATS))
    if (entry.is_directory()) all.push_back(entry.path().filename());
  std::ranges::sort(all);
  return all;
}

// Until 1.0.0 the fixtures of a candidate may be replaced.
constexpr const char* kCure =
    "\nIf the format was changed on purpose before 1.0.0, run tools/write-formats as root.";

class Formats : public ::testing::TestWithParam<std::string> {
 protected:
  fs::path directory() const { return fs::path(TEMPO_FORMATS) / GetParam(); }
};

TEST_P(Formats, StateOfTheDaemonIsRead) {
  const daemon::LoadedState loaded = daemon::read_state(directory() / "state-dir");
  EXPECT_EQ(loaded.lost, "") << kCure;
  // Incarnations are at least the seconds since 2020: 200 million are later than April 2026.
  EXPECT_GT(loaded.state.incarnation, 200'000'000U);
  EXPECT_THAT(text_of(directory() / "state-dir" / "state"),
              ::testing::HasSubstr(daemon::rate_text(loaded.state.rate)));
}

TEST_P(Formats, RecordOfTheLocksIsRead) {
  const std::string text = text_of(directory() / "state-dir" / "locks");
  // "host 0123456789abcdef" is the second line.
  std::uint64_t host = 0;
  const std::size_t at = text.find("\nhost ") + 6;
  ASSERT_EQ(std::from_chars(text.data() + at, text.data() + at + 16, host, 16).ptr,
            text.data() + at + 16)
      << text;
  const std::size_t place_at = text.find("\nplace ") + 7;
  const std::string place = text.substr(place_at, text.find('\n', place_at) - place_at);
  const daemon::SavedLocks saved =
      daemon::read_lock_record(directory() / "state-dir", HostId{host}, place);
  EXPECT_EQ(saved.lost, "") << kCure;
  ASSERT_TRUE(saved.record) << kCure;
  EXPECT_EQ(saved.record->host, HostId{host});
  EXPECT_EQ(saved.record->stage, locks::LockRecord::Stage::committed);
  EXPECT_EQ(saved.record->voters.size(), 3U);
  ASSERT_TRUE(saved.record->lease);
  EXPECT_EQ(saved.record->lease->view.slots.size(), 3U);
  // A record of another host is no record of this one.
  EXPECT_FALSE(daemon::read_lock_record(directory() / "state-dir", HostId{host + 1}, place).record);
  // In this directory it is a copy.
  EXPECT_FALSE(daemon::read_lock_record(directory() / "state-dir", HostId{host}, "b1.0 -").record);
}

TEST_P(Formats, TimePageIsRead) {
  std::string hex = text_of(directory() / "page");
  hex.pop_back();
  const std::vector<std::byte> bytes = bytes_of(hex);
  ASSERT_EQ(bytes.size(), sizeof(page::Page));
  alignas(page::Page) std::array<std::byte, sizeof(page::Page)> memory;
  std::ranges::copy(bytes, memory.begin());
  const auto* const read = reinterpret_cast<const page::Page*>(memory.data());
  EXPECT_EQ(read->header.magic, page::kMagic);
  EXPECT_EQ(read->header.version, page::kVersion) << kCure;
  const auto loaded = page::load(*read);
  ASSERT_TRUE(loaded);
  const page::Content& content = loaded->content;
  EXPECT_TRUE(page::sane(content));
  EXPECT_GE(content.status, page::Status::synchronized);
  EXPECT_LE(content.earliest.shows, content.time.shows);
  EXPECT_LE(content.time.shows, content.latest.shows);
}

TEST_P(Formats, DatagramsAreRead) {
  std::set<std::size_t> bodies;
  for (const auto& bytes : lines_of(directory() / "datagrams")) {
    const auto datagram = wire::parse(bytes);
    ASSERT_TRUE(datagram) << "error " << static_cast<int>(datagram.error()) << kCure;
    EXPECT_EQ(datagram->header.key, wire::kNoKey);
    bodies.insert(datagram->body.index());
  }
  // Elections, clocks, locks, sets of voters, groups, silent and explicit locks, challenges.
  EXPECT_GE(bodies.size(), 6U);
}

TEST_P(Formats, SealedDatagramsAreOpened) {
  // The keys of a repository are not secret, and git does not keep the mode that tempod demands.
  const auto keys = auth::parse_keys(text_of(directory() / "key"));
  ASSERT_TRUE(keys) << keys.error();
  const auth::Keyring ring(*keys);
  std::size_t opened = 0;
  for (const auto& bytes : lines_of(directory() / "sealed")) {
    const auto inside = ring.open(bytes, ring.sealing_id());
    ASSERT_TRUE(inside) << auth::name_of(inside.error());
    const auto datagram = wire::parse(*inside);
    ASSERT_TRUE(datagram);
    EXPECT_EQ(datagram->header.key, wire::KeyId{ring.sealing_id()});
    ++opened;
  }
  EXPECT_GT(opened, 3U);
}

INSTANTIATE_TEST_SUITE_P(Released, Formats, ::testing::ValuesIn(versions()),
                         [](const auto& version) {
                           std::string name = version.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '.' || c == '-'; }, '_');
                           return name;
                         });

TEST(KeptFormats, OfThisVersionAreKept) { EXPECT_FALSE(versions().empty()); }

}  // namespace
}  // namespace tempo
