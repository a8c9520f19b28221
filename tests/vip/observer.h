// A machine that asks for an address all the time and records which machine answered: by ARP or
// neighbour solicitations to everybody, and by echo requests to each machine by its link address,
// so that an answer does not depend on what neighbours believe.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/units.h"
#include "services/vip/address_prefix.h"
#include "services/vip/neighbour_frame.h"

namespace tempo::testbed {

class Observer {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::string space;  // network namespace
    std::string own;    // its IPv4 address there
    vip::AddressPrefix address{};
    std::vector<vip::Mac> machines;  // that may answer
    Nanos every = 5ms;
  };
  explicit Observer(const Options& options);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  struct Answer {
    Clock::time_point at;
    int machine = 0;
    bool echo = false;  // answered an echo request; else where the address is
  };
  std::vector<Answer> answers(Clock::time_point since = {}) const;
  std::optional<int> last() const;  // the machine that answered last; unset: none did

  // Of all answers since then: the longest time by which an answer of one machine was later than
  // the first answer of its successor, and the longest time without an answer.
  struct Summary {
    Nanos overlap{0};
    Nanos gap{0};
    int hand_overs = 0;
    std::size_t answers = 0;
  };
  static Summary summary_of(const std::vector<Answer>& answers);

 private:
  void work();
  std::vector<std::byte> echo_request(const vip::Mac& to, std::uint16_t number) const;

  Options options_;
  vip::Mac mac_{};
  int socket_ = -1;
  int interface_ = 0;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::vector<Answer> answers_;
  std::thread thread_;
};

}  // namespace tempo::testbed
