#include "daemon/control/sessions.h"

#include <gtest/gtest.h>

namespace tempo::daemon {
namespace {

TEST(Sessions, AreReadAsWritten) {
  const auto read = session_of(session_text({.number = 0x1234, .origin = HostId{~0ULL}}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, 0x1234U);
  EXPECT_EQ(read->origin, HostId{~0ULL});
}

TEST(Sessions, WithAnotherTextAreNone) {
  const std::string good = session_text({.number = 1, .origin = HostId{2}});
  for (const std::string& text :
       {std::string(), good + '0', good.substr(1), "g" + good.substr(1),
        session_text({.number = 0, .origin = HostId{2}}), "+" + good.substr(1)})
    EXPECT_FALSE(session_of(text)) << text;
}

}  // namespace
}  // namespace tempo::daemon
