// Commit-wait: every machine that learns of the event afterwards uses a larger timestamp.
//
//   time_example [PAGE]
#include <iostream>

#include <tempo/time.h>

int main(int argc, char** argv) {
  const auto page = tempo::TimePage::open(argc > 1 ? argv[1] : tempo::kDefaultTimePage);
  if (!page) {
    std::cerr << "time_example: " << page.error().message << '\n';
    return 1;
  }
  tempo::Timestamps stamps(*page);
  const auto stamp = stamps.next();
  if (!stamp) {
    std::cerr << "time_example: network time is unknown; 'tempo wait-sync' waits for it\n";
    return 1;
  }
  // Store the event with its timestamp here, but do not announce it yet.
  if (!page->wait_until_after(*stamp, std::chrono::seconds{10})) {
    std::cerr << "time_example: the timestamp has not passed everywhere within 10 s\n";
    return 1;
  }
  // Announce the event from here on.
  const tempo::Now now = page->now();
  std::cout << "stamped " << stamp->time_since_epoch().count() << ", now it is between "
            << now.earliest.time_since_epoch().count() << " and "
            << now.latest.time_since_epoch().count() << '\n';
}
