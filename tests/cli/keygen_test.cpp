// `tempo keygen`: files that only their owner can read, never overwritten by mistake, rotated.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"
#include "protocol/auth/key_rotation.h"
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

auth::KeyLines keys_in(const TemporaryFile& file) {
  const auto lines = auth::parse_keys(file.text());
  EXPECT_TRUE(lines) << lines.error();
  return lines.value_or(auth::KeyLines{});
}

TEST(Keygen, WritesAFileForItsOwnerOnly) {
  const TemporaryFile file("key");
  const mode_t before = umask(0);
  const Ended ended = tempo("keygen " + file.path());
  umask(before);
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(mode_of(file.path()), 0600U);
  ASSERT_EQ(keys_in(file).size(), 1U);
  EXPECT_THAT(ended.out, HasSubstr(auth::key_name(keys_in(file)[0].key)));
  // Other users may see the output; it must not contain the key.
  EXPECT_THAT(ended.out, Not(HasSubstr(auth::text_of(keys_in(file)[0]).substr(12, 64))));
}

TEST(Keygen, OverwritesOnlyWithForce) {
  const TemporaryFile file("key");
  std::ofstream(file.path()) << "precious";
  const Ended ended = tempo("keygen " + file.path());
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.err, "tempo: cannot write " + file.path() +
                           ": File exists; it exists and was not changed; --add changes the key of "
                           "a running cluster, --force replaces the file\n");
  EXPECT_EQ(file.text(), "precious");
  EXPECT_EQ(tempo("keygen --force " + file.path()).status, 0);
  EXPECT_EQ(keys_in(file).size(), 1U);
  EXPECT_EQ(mode_of(file.path()), 0600U);
}

TEST(Keygen, ChangesTheKeyInThreeSteps) {
  const TemporaryFile file("key");
  ASSERT_EQ(tempo("keygen " + file.path()).status, 0);
  const auth::KeyLines first = keys_in(file);
  const Ended added = tempo("keygen --add " + file.path());
  EXPECT_EQ(added.status, 0) << added.err;
  ASSERT_EQ(keys_in(file).size(), 2U);
  const auth::Key fresh = keys_in(file)[1].key;
  EXPECT_EQ(keys_in(file), auth::add_key(first, fresh));
  EXPECT_THAT(added.out, HasSubstr("Key " + auth::key_name(fresh) + " is in"));
  EXPECT_THAT(added.out, Not(HasSubstr(file.text().substr(file.text().size() - 71, 64))));
  EXPECT_EQ(mode_of(file.path()), 0600U);
  const json promoted = data_of(tempo("keygen --promote --json " + file.path()).out);
  EXPECT_EQ(promoted["keys"], 2);
  EXPECT_EQ(promoted["seals"], auth::key_name(fresh));
  EXPECT_EQ(promoted["accepts_unsealed"], false);
  EXPECT_EQ(tempo("keygen --drop " + file.path()).status, 0);
  EXPECT_EQ(keys_in(file), auth::KeyLines{{.key = fresh}});
  EXPECT_EQ(mode_of(file.path()), 0600U);
}

TEST(Keygen, AddsTheKeyOfAnotherMachine) {
  const TemporaryFile file("key");
  const TemporaryFile other("other-key");
  ASSERT_EQ(tempo("keygen " + file.path()).status, 0);
  std::ofstream(other.path()) << file.text();
  ASSERT_EQ(tempo("keygen --add " + file.path()).status, 0);
  const std::string add = "keygen --add --key " + file.path() + ' ' + other.path();
  EXPECT_EQ(tempo(add).status, 0);
  EXPECT_EQ(keys_in(other), keys_in(file));
  const Ended again = tempo(add);
  EXPECT_EQ(again.status, 0) << "a step can be repeated";
  EXPECT_THAT(again.out, HasSubstr("already"));
  EXPECT_EQ(tempo("keygen --withdraw " + other.path()).status, 0);
  EXPECT_EQ(keys_in(other).size(), 1U);
  EXPECT_THAT(tempo("keygen --add --key /nonexistent " + other.path()).err,
              HasSubstr("--key needs the key file of another machine"));
}

TEST(Keygen, IntroducesAFirstKey) {
  const TemporaryFile file("key");
  const Ended added = tempo("keygen --add " + file.path());
  EXPECT_EQ(added.status, 0) << added.err;
  EXPECT_THAT(added.out, HasSubstr("accepts datagrams without a key"));
  ASSERT_EQ(keys_in(file).size(), 2U);
  EXPECT_EQ(keys_in(file)[0], auth::KeyLine{});
  EXPECT_EQ(tempo("keygen --withdraw " + file.path()).status, 0);
  EXPECT_FALSE(std::filesystem::exists(file.path())) << "as before";
  ASSERT_EQ(tempo("keygen --add " + file.path()).status, 0);
  EXPECT_EQ(data_of(tempo("keygen --promote --json " + file.path()).out)["accepts_unsealed"], true);
  EXPECT_EQ(tempo("keygen --drop " + file.path()).status, 0);
  EXPECT_EQ(keys_in(file).size(), 1U);
  EXPECT_EQ(mode_of(file.path()), 0600U);
}

TEST(Keygen, RefusesAStepOutOfOrder) {
  const TemporaryFile file("key");
  EXPECT_THAT(tempo("keygen --promote " + file.path()).err, HasSubstr("does not exist"));
  ASSERT_EQ(tempo("keygen " + file.path()).status, 0);
  const std::string before = file.text();
  for (const char* step : {"--promote", "--drop", "--withdraw"})
    EXPECT_EQ(tempo(fmt::format("keygen {} {}", step, file.path())).status, 2) << step;
  EXPECT_EQ(file.text(), before);
  EXPECT_EQ(tempo("keygen --add --promote " + file.path()).status, 2);
  EXPECT_EQ(tempo("keygen --key x " + file.path()).status, 2);
}

TEST(Keygen, DoesNotAddToAnInvalidFile) {
  const TemporaryFile file("key");
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
  EXPECT_EQ(tempo("keygen --add --drop x").status, 2);
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
  EXPECT_THAT(again.err, HasSubstr("exists and was not changed; --force replaces"));
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
