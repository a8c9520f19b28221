// CPU time that a master spends per slave and round, for growing numbers of slaves.
//
// One production node leads; this program plays its slaves. In every round (one second) each slave
// sends a probe with a report, gets an echo and an Adjtime, and acknowledges the Adjtime; in every
// sixteenth round the master combines all reports into its time scale.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#include <fmt/core.h>

#include "base/random.h"
#include "protocol/sync/node.h"

namespace tempo::node {
namespace {

constexpr std::uint32_t kWarm = 300;  // rounds until all members count in the time scale
constexpr std::uint32_t kTimed = 32;
constexpr double kTarget = 5;

double thread_seconds() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Master {
 public:
  explicit Master(std::uint32_t slaves)
      : slaves_(slaves),
        node_({.self = NodeId{slaves}, .incarnation = Incarnation{1}}, 1, rules_,
              {.now = now_, .shows = WallTime{1'700'000'000s}}, sync_rules_) {
    step([](Node& node, auto& turn) { node.start(turn); });
    while (!node_.sync().leads()) advance(now_ + 10ms);
    for (std::uint32_t i = 0; i < slaves_; ++i)
      receive(i, election::Message{.kind = election::Kind::slaveup,
                                   .incarnation = Incarnation{1},
                                   .epoch = node_.network(0)->followed()});
  }

  // One second: the messages of the slaves, evenly spaced, and all timers that are due.
  void round() {
    const Nanos apart = 1s / slaves_;
    for (std::uint32_t i = 0; i < slaves_; ++i) {
      advance(now_ + apart);
      const double t = in_seconds(now_.time_since_epoch());
      const double rate = (i % 100) * 1e-6 - 50e-6;
      receive(i, Probe{.exchange = ++exchange_,
                       .report = {.offset = Nanos{std::llround(rate * t * 1e9)} +
                                            noise_.uniform(-1us, 1us),
                                  .rate_ppt = std::llround(rate * 1e12),
                                  .sigma = 1us,
                                  .bound = 100us}});
    }
  }
  std::uint64_t sent() const { return sent_; }
  const Node& node() const { return node_; }

 private:
  void advance(Instant until) {
    while (node_.timers().first() <= until) {
      now_ = std::max(now_, node_.timers().first());
      step([](Node& node, auto& turn) { node.on_timer(turn, node.timers().first_name()); });
    }
    now_ = std::max(now_, until);
  }
  template <class Body>
  void receive(std::uint32_t from, const Body& body) {
    Node::Message message;
    message.body = body;
    step([&](Node& node, auto& turn) { node.receive(turn, NodeId{from}, message); });
  }
  // Steps the node and acknowledges its reliable messages at once.
  template <class Function>
  void step(Function function) {
    out_.clear();
    StreamDraw draw(chance_);
    Turn<Node> turn{now_, draw, out_};
    function(node_, turn);
    sent_ += out_.size();
    std::vector<std::pair<NodeId, Node::Message>> acks;
    for (const auto& output : out_) {
      const election::Message* message =
          output.kind == OutputKind::send ? output.message.election() : nullptr;
      if (message == nullptr || !election::reliable(message->kind)) continue;
      Node::Message ack;
      ack.body = election::Message{.kind = election::Kind::ack,
                                   .incarnation = Incarnation{1},
                                   .answers = message->sequence,
                                   .subject_incarnation = message->incarnation};
      acks.emplace_back(output.to, ack);
    }
    for (const auto& [from, ack] : acks) {
      out_.clear();
      node_.receive(turn, from, ack);
    }
  }

  std::uint32_t slaves_;
  election::Rules rules_{.timing = *election::profile("lan")};
  SyncRules sync_rules_{};
  Instant now_{1000s};
  Node node_;
  Outbox<Node> out_;
  Stream chance_{1, 1, 0};
  Stream noise_{1, 2, 0};
  std::uint32_t exchange_ = 0;
  std::uint64_t sent_ = 0;
};

int report() {
  bool good = true;
  fmt::print("{:>8} {:>24} {:>6}\n", "slaves", "us per slave and round", "target");
  for (const std::uint32_t slaves : {100U, 1000U, 10000U}) {
    Master master(slaves);
    for (std::uint32_t i = 0; i < kWarm; ++i) master.round();
    const std::uint64_t before = master.sent();
    double best = 1e9;
    for (int repeat = 0; repeat < 2; ++repeat) {
      const double start = thread_seconds();
      for (std::uint32_t i = 0; i < kTimed; ++i) master.round();
      best = std::min(best, (thread_seconds() - start) / kTimed / slaves);
    }
    std::uint32_t faulty = 0;
    for (const auto& slot : master.node().sync().members().sorted()) faulty += slot.value.faulty;
    fmt::print("{:8} {:24.3f} {:6.1f}   {:.2f} messages per slave; {} of {} members agree\n",
               slaves, best * 1e6, kTarget,
               static_cast<double>(master.sent() - before) / kTimed / 2 / slaves,
               master.node().sync().members().size() - faulty, slaves);
    std::fflush(stdout);
    good &= best * 1e6 <= kTarget;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tempo::node

int main() { return tempo::node::report(); }
