// Fuzzes the lease service: messages of other hosts, requests of clients, timers and completed
// writes in any order. The service keeps its invariants, sends its clients consistent updates and
// sends only messages that can be parsed.
//
// The input is a sequence of steps: one byte selects the step, the bytes after it are its
// arguments.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "protocol/lock/lease_service.h"
#include "protocol/wire/datagram.h"
#include "protocol/wire/layout.h"

namespace tempo {
namespace {

constexpr std::uint32_t kHosts = 5;  // three of them vote
constexpr std::array<std::string_view, 3> kNames{"one", "two", "three"};
constexpr std::size_t kMaxSteps = 500;

// Host i has the number i if the hosts are admitted in their order.
HostId host(std::uint32_t number) { return HostId{100 + number}; }

wire::Directory all_hosts() {
  wire::Directory hosts;
  for (std::uint32_t i = 0; i < kHosts; ++i) hosts.admit(host(i));
  return hosts;
}

class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::uint8_t byte() { return take(1).empty() ? 0 : taken_.front(); }
  std::span<const std::byte> take(std::size_t size) {
    taken_ = bytes_.first(std::min(size, bytes_.size()));
    bytes_ = bytes_.subspan(taken_.size());
    return std::as_bytes(taken_);
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::span<const std::uint8_t> taken_;
};

struct Harness {
  using Service = locks::LeaseService;

  template <class Do>
  void step(Do todo) {
    Outbox<Service> out;
    Turn<Service> turn{now, draw, out};
    todo(turn);
    for (const Output<Service>& output : out) carry_out(output);
    const char* const violation = service.check();
    CHECK(violation == nullptr);
  }
  void command(const Service::Command& command) {
    step([&](auto& turn) { service.command(turn, command); });
  }
  void finish_write() {
    if (const auto saved = std::exchange(writing, std::nullopt))
      command(Service::persisted(*saved));
  }
  void carry_out(const Output<Service>& output) {
    if (output.kind == OutputKind::persist)
      writing = output.record;
    else if (output.kind != OutputKind::notice)
      check_parses(output.message);
    else if (const auto* update = std::get_if<locks::LockUpdate>(&output.notice))
      notify(*update);
  }
  static void check_parses(const wire::LockBody& body) {
    wire::Datagram datagram;
    datagram.header.sender = host(0);
    datagram.body = body;
    std::array<std::byte, wire::kMaxBytes> buffer{};
    const std::size_t size = wire::write(datagram, buffer);
    const auto again = wire::parse(std::span(buffer).first(size));
    CHECK(again && std::get<wire::LockBody>(again->body) == body);
  }
  void notify(const locks::LockUpdate& update) {
    const auto found = clients.find(update.client);
    CHECK(found != clients.end());
    using Kind = locks::LockUpdate::Kind;
    if (update.kind == Kind::granted) {
      CHECK(!found->second && update.deadline > now && update.token != lock::kNoToken);
      found->second = true;
    }
    if (update.kind == Kind::extended) CHECK(found->second && update.deadline > now);
    if (update.kind == Kind::lost) CHECK(found->second || returning.contains(update.client));
    if (update.kind != Kind::extended) returning.erase(update.client);
    if (update.kind == Kind::lost || update.kind == Kind::refused) clients.erase(found);
  }

  BootTime now{Nanos{1'000'000'000'000}};
  Stream stream{1, 1, 1};
  StreamDraw draw{stream};
  wire::Directory hosts = all_hosts();
  Service service{
      {.self = host(0),
       .voters = {host(0), host(1), host(2)},
       .hosts = &hosts,
       .rules = {.lease = 2s, .longest = 2s, .suppress_replies = true},
       .saved = locks::Saved{.boot = lock::lease::Boot{1},
                             .reserve = 1000,
                             .view = locks::first_voters({host(0), host(1), host(2)})}}};
  std::optional<locks::Saved> writing;
  std::map<locks::ClientId, bool> clients;  // true: the client holds its lock
  std::set<locks::ClientId> returning;      // clients that resume
};

std::optional<wire::LockBody> body_in(Input& in) {
  auto body = wire::read_body<wire::LockBody>(wire::Reader(in.take(in.byte())));
  if (!body) return std::nullopt;
  if (const std::uint8_t size = in.byte(); size > 0) {
    const auto pass = wire::read_body<wire::LockPass>(wire::Reader(in.take(size)));
    if (!pass) return std::nullopt;
    body->pass = *pass;
    if (const auto standing = wire::read_body<wire::LockStanding>(wire::Reader(in.take(in.byte()))))
      body->pass.standings.push_back(*standing);
  } else if (const auto inside =
                 wire::read_body<wire::LockInside>(wire::Reader(in.take(in.byte())))) {
    body->inside = *inside;
  }
  return *body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in({data, size});
  Harness harness;
  harness.step([&](auto& turn) { harness.service.start(turn); });
  for (std::size_t steps = 0; !in.empty() && steps < kMaxSteps; ++steps) {
    switch (in.byte() % 6) {
      case 0:
        // The codec drops messages with this host's own id.
        if (const auto body = body_in(in)) {
          const NodeId from{1U + in.byte() % (kHosts - 1)};
          harness.step([&](auto& turn) { harness.service.receive(turn, from, *body); });
        }
        break;
      case 1:
        harness.now += 10ms * in.byte();
        for (int i = 0; i < 10 && harness.service.timers().first() <= harness.now; ++i)
          harness.step([&](auto& turn) { harness.service.on_timer(turn, TimerId{0}); });
        break;
      case 2: {
        const locks::ClientId client{1U + in.byte() % 16U};
        if (harness.clients.contains(client)) break;
        harness.clients[client] = false;
        const std::uint8_t option = in.byte();
        harness.command(
            locks::Acquire{.client = client,
                           .name = std::string(kNames[option % kNames.size()]),
                           .mode = option >= 128 ? locks::Mode::shared : locks::Mode::exclusive,
                           .network_us = option,
                           .session = {.number = option % 4U, .process = 1}});
        break;
      }
      case 5: {
        const locks::ClientId client{1U + in.byte() % 16U};
        if (harness.clients.contains(client)) break;
        harness.clients[client] = false;
        harness.returning.insert(client);
        const std::uint8_t option = in.byte();
        harness.command(
            locks::Resume{.client = client,
                          .name = std::string(kNames[option % kNames.size()]),
                          .mode = option >= 128 ? locks::Mode::shared : locks::Mode::exclusive,
                          .session = {.number = 1U + option % 4U, .process = 1},
                          .token = lock::lease::Held{1'000U + in.byte(), in.byte()}.token(),
                          .origin = host(0),
                          .deadline = harness.now + 10ms * in.byte()});
        break;
      }
      case 3: {
        const locks::ClientId client{1U + in.byte() % 16U};
        harness.clients.erase(client);
        harness.returning.erase(client);
        harness.command(locks::Release{client});
        break;
      }
      case 4:
        harness.finish_write();
        break;
      default:
        break;
    }
    (void)harness.service.known(harness.now);
  }
  return 0;
}

}  // namespace tempo
