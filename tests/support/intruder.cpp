#include "support/intruder.h"

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "support/forger.h"

namespace tempo::testbed {
namespace {

sockaddr_in address_of(const std::string& text, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, text.c_str(), &address.sin_addr);
  return address;
}

// One false datagram: noise, or a captured one, whole or damaged.
Bytes false_datagram(Stream& chance, const std::vector<Bytes>& captured) {
  constexpr std::size_t kMaxNoise = 600;
  Bytes bytes;
  if (captured.empty() || chance.chance(0.25)) {
    bytes.resize(chance.below(kMaxNoise));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(chance.below(256));
    return bytes;
  }
  bytes = captured[chance.below(captured.size())];
  for (std::uint64_t flips = chance.below(5); flips > 0; --flips)
    bytes[chance.below(bytes.size())] ^= static_cast<std::byte>(1U << chance.below(8));
  if (chance.chance(0.1)) bytes.resize(chance.below(bytes.size()) + 1);
  if (chance.chance(0.1)) bytes.resize(bytes.size() + chance.below(40));
  return bytes;
}

// Equal numbers of each kind and seal, if `count` is large enough.
Bytes forged(Forger& forger, const Plan& plan, int i) {
  const auto turn = i / static_cast<int>(plan.targets.size());
  const auto what = static_cast<Forger::What>(turn % Forger::kWhats);
  if (plan.attempt == Attempt::forged_unsealed) return forger.forge(what, Forger::Seal::none);
  return forger.forge(what, static_cast<Forger::Seal>(turn / Forger::kWhats % Forger::kSeals));
}

Attack flood(const Plan& plan) {
  constexpr std::size_t kMaxCaptured = 64;
  Attack done;
  const int listener = ::socket(AF_INET, SOCK_DGRAM, 0);
  const int sender = ::socket(AF_INET, SOCK_DGRAM, 0);
  if (listener < 0 || sender < 0) return done;
  const int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const sockaddr_in broadcast = address_of(plan.broadcast, plan.port);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&broadcast), sizeof(broadcast)) != 0)
    return done;
  std::vector<Bytes> captured;
  std::optional<Forger> forger;
  const auto end = std::chrono::steady_clock::now() + 3s;
  while (std::chrono::steady_clock::now() < end && captured.size() < kMaxCaptured) {
    pollfd waiting{.fd = listener, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 100) <= 0) continue;
    Bytes bytes(2048);
    const ssize_t size = ::recv(listener, bytes.data(), bytes.size(), 0);
    if (size <= 0) continue;
    bytes.resize(static_cast<std::size_t>(size));
    if (plan.attempt != Attempt::noise) {
      forger = Forger::after(bytes);
      if (!forger) continue;
      captured.push_back(std::move(bytes));
      break;
    }
    captured.push_back(std::move(bytes));
  }
  done.captured = static_cast<int>(captured.size());
  if (plan.attempt != Attempt::noise && !forger) return done;
  std::vector<sockaddr_in> addresses;
  for (const std::string& target : plan.targets) addresses.push_back(address_of(target, plan.port));
  Stream chance(1, 1, 1);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < plan.count; ++i) {
    const Bytes bytes = forger ? forged(*forger, plan, i) : false_datagram(chance, captured);
    const sockaddr_in& address = addresses[static_cast<std::size_t>(i) % addresses.size()];
    if (::sendto(sender, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)) >= 0)
      ++done.sent;
    if (i % plan.at_once == 0) ::usleep(500);
  }
  done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return done;
}

}  // namespace

Attack attack(const Plan& plan) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    const int space = ::open(("/run/netns/" + plan.space).c_str(), O_RDONLY);
    if (::setns(space, CLONE_NEWNET) != 0) ::_exit(1);
    const Attack done = flood(plan);
    const bool reported = ::write(ends[1], &done, sizeof(done)) == sizeof(done);
    ::_exit(reported ? 0 : 1);
  }
  ::close(ends[1]);
  Attack done;
  if (::read(ends[0], &done, sizeof(done)) != sizeof(done)) done = {};
  ::close(ends[0]);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return done;
}

}  // namespace tempo::testbed
