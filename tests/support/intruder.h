// An attacker on the network without a key: captures datagrams and sends false ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tempo::testbed {

enum class Attempt : std::uint8_t {
  noise,           // random bytes, captured datagrams, and these with flipped bits, cut or extended
  forged,          // in the name of the master, with each kind and each false seal in turn
  forged_unsealed  // the same, without a seal
};

struct Plan {
  Attempt attempt = Attempt::noise;
  std::string space{};      // network namespace of the attacker
  std::string broadcast{};  // broadcast address on which it listens
  std::vector<std::string> targets{};
  std::uint16_t port = 0;
  int count = 0;
  int at_once = 50;  // datagrams, then a pause of half a millisecond: a flood that fills the
                     // buffers of the daemons tests only these
};

// Result of an attack.
struct Attack {
  int captured = 0;  // captured broadcasts; forged: those of the master
  int sent = 0;
  double seconds = 0;  // for sending
};

// Listens for a while, then sends false datagrams to each target in turn.
Attack attack(const Plan& plan);

}  // namespace tempo::testbed
