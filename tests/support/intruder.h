// One who is on the network and has no key: it overhears what it can and sends what is false.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tempo::testbed {

enum class Attempt : std::uint8_t {
  noise,           // random bytes, what it has heard, and that with bits changed, cut or lengthened
  forged,          // in the master's name, by each kind and each false seal in turn
  forged_unsealed  // the same, without any seal
};

struct Plan {
  Attempt attempt = Attempt::noise;
  std::string space{};      // the namespace it is in
  std::string broadcast{};  // the address where it listens
  std::vector<std::string> targets{};
  std::uint16_t port = 0;
  int count = 0;
};

// What it did.
struct Attack {
  int overheard = 0;  // broadcasts it has heard and used; forged: those of the master
  int sent = 0;
};

// Listens for a while and then sends false datagrams, to each target in turn.
Attack attack(const Plan& plan);

}  // namespace tempo::testbed
