// Commit-wait: stamps an event so that whoever hears of it, on any machine, stamps later.
//
//   time_example [PAGE]
#include <iostream>

#include <tempo/time.h>

int main(int argc, char** argv) {
  const auto page = tempo::TimePage::open(argc > 1 ? argv[1] : tempo::kDefaultTimePage);
  if (!page) {
    std::cerr << "time_example: " << page.error() << '\n';
    return 1;
  }
  tempo::Timestamps stamps(*page);
  const auto stamp = stamps.next();
  if (!stamp) {
    std::cerr << "time_example: the network's time is not known; 'tempo wait-sync' waits for it\n";
    return 1;
  }
  // The event is written down here, with its stamp, and told to nobody yet.
  if (!page->wait_until_after(*stamp, std::chrono::seconds{10})) {
    std::cerr << "time_example: the stamp has not passed everywhere within 10 s\n";
    return 1;
  }
  // From here on it may be told.
  const tempo::Now now = page->now();
  std::cout << "stamped " << stamp->time_since_epoch().count() << ", now it is between "
            << now.earliest.time_since_epoch().count() << " and "
            << now.latest.time_since_epoch().count() << '\n';
}
