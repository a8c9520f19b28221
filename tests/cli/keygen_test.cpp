// `tempo keygen`: files that only their owner can read, never overwritten by mistake, rotated.
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"
#include "protocol/auth/keyring.h"
#include "protocol/auth/node_keys.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777U;
}

std::vector<auth::Key> keys_in(const TemporaryFile& file) {
  const auto keys = auth::parse_keys(file.text());
  EXPECT_TRUE(keys) << keys.error();
  return keys.value_or(std::vector<auth::Key>{});
}

TEST(Keygen, WritesAFileForItsOwnerOnly) {
  const TemporaryFile file("key");
  const mode_t before = umask(0);
  const Ended ended = tempo("keygen " + file.path());
  umask(before);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(mode_of(file.path()), 0600U);
  ASSERT_EQ(keys_in(file).size(), 1U);
  EXPECT_THAT(ended.out, HasSubstr(fmt::format("{:08x}", auth::key_id(keys_in(file)[0]))));
  // Other users may see the output; it must not contain the key.
  EXPECT_THAT(ended.out, Not(HasSubstr(auth::key_line(keys_in(file)[0]).substr(12))));
}

TEST(Keygen, OverwritesOnlyWithForce) {
  const TemporaryFile file("key");
  std::ofstream(file.path()) << "precious";
  const Ended ended = tempo("keygen " + file.path());
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "tempo: " + file.path() +
                           " exists and was not changed; --add puts a new key before the existing "
                           "one, --force replaces the file\n");
  EXPECT_EQ(file.text(), "precious");
  EXPECT_EQ(tempo("keygen --force " + file.path()).status, 0);
  EXPECT_EQ(keys_in(file).size(), 1U);
  EXPECT_EQ(mode_of(file.path()), 0600U);
}

TEST(Keygen, RotatesKeys) {
  const TemporaryFile file("key");
  ASSERT_EQ(tempo("keygen " + file.path()).status, 0);
  const auto first = keys_in(file);
  const Ended ended = tempo("keygen --add --json " + file.path());
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(data_of(ended.out)["keys"], 2);
  const auto second = keys_in(file);
  ASSERT_EQ(second.size(), 2U);
  EXPECT_NE(second[0], first[0]);
  EXPECT_EQ(second[1], first[0]);
  // The next rotation drops the oldest key.
  ASSERT_EQ(tempo("keygen --add " + file.path()).status, 0);
  const auto third = keys_in(file);
  ASSERT_EQ(third.size(), 2U);
  EXPECT_EQ(third[1], second[0]);
  EXPECT_EQ(mode_of(file.path()), 0600U);
}

TEST(Keygen, DoesNotAddToAnInvalidFile) {
  const TemporaryFile file("key");
  EXPECT_EQ(tempo("keygen --add " + file.path()).status, 2);
  std::ofstream(file.path()) << "tempo-key-1 abc\n";
  const Ended ended = tempo("keygen --add " + file.path());
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("line 1:"));
  EXPECT_EQ(file.text(), "tempo-key-1 abc\n");
}

TEST(Keygen, PrintsOrRefuses) {
  EXPECT_TRUE(auth::parse_keys(tempo("keygen -").out));
  EXPECT_NE(tempo("keygen -").out, tempo("keygen -").out);
  EXPECT_EQ(tempo("keygen --add -").status, 2);
  EXPECT_EQ(tempo("keygen --add --force x").status, 2);
  const Ended ended = tempo("keygen /nonexistent/key");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("create its directory first"));
  EXPECT_THAT(ended.out, IsEmpty());
}

TEST(Keygen, PrintsOnlyThePublicPartOfANodeKey) {
  const TemporaryFile file("node-key");
  const Ended ended = tempo("keygen --node " + file.path());
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(mode_of(file.path()), 0600U);
  const auto seed = auth::parse_node_key(file.text());
  ASSERT_TRUE(seed) << seed.error();
  EXPECT_EQ(ended.out, auth::node_list_line(auth::public_of(*seed)) + '\n');
  EXPECT_THAT(ended.err, Not(HasSubstr(auth::node_key_line(*seed).substr(17))));
  const Ended again = tempo("keygen --node " + file.path());
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("exists and was not changed; --force replaces it"));
  EXPECT_EQ(auth::parse_node_key(file.text()), seed);
  EXPECT_EQ(tempo("keygen --node --force " + file.path()).status, 0);
  EXPECT_NE(auth::parse_node_key(file.text()), seed);
}

TEST(Keygen, NeitherPrintsNorAddsNodeKeys) {
  EXPECT_EQ(tempo("keygen --node -").status, 2);
  EXPECT_EQ(tempo("keygen --node --add /tmp/x").status, 2);
}

}  // namespace
}  // namespace tempo
