// A hand-written run for the tests of diagrams: five nodes, a crash, an election, a lost message.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "lab/sim/trace.h"

namespace tempo::report {

// Writes a trace line by line; node numbers start at 1 and times are in milliseconds.
class RunWriter {
 public:
  explicit RunWriter(sim::Trace& trace) : trace_(trace) {}

  static Instant at(double ms) { return Instant{Nanos{std::llround(ms * 1e6)}}; }
  static NodeId node(std::uint32_t number) { return number == 0 ? kNobody : NodeId{number - 1}; }

  // Node 0 as receiver means all nodes. Returns the number of the transmission.
  std::uint32_t send(double ms, std::uint32_t from, std::uint32_t to, std::string_view label) {
    ++number_;
    trace_.add({.at = at(ms),
                .what = sim::What::sent,
                .node = node(from),
                .peer = node(to),
                .number = number_,
                .label = label});
    return number_;
  }
  void receive(double ms, std::uint32_t from, std::uint32_t to, std::string_view label,
               std::uint32_t number, double sent) {
    trace_.add({.at = at(ms),
                .what = sim::What::received,
                .node = node(from),
                .peer = node(to),
                .number = number,
                .sent = at(sent),
                .label = label});
  }
  void lose(double ms, std::uint32_t from, std::uint32_t to, std::string_view label,
            std::uint32_t number) {
    trace_.add({.at = at(ms),
                .what = sim::What::lost,
                .node = node(from),
                .peer = node(to),
                .number = number,
                .label = label});
  }
  void becomes(double ms, std::uint32_t id, std::string_view state) {
    trace_.add({.at = at(ms), .what = sim::What::becomes, .node = node(id), .label = state});
  }
  void fault(double ms, std::uint32_t id, std::string_view label) {
    trace_.add({.at = at(ms), .what = sim::What::disturbed, .node = node(id), .label = label});
  }

 private:
  sim::Trace& trace_;
  std::uint32_t number_ = 0;
};

// Node 1 is master and crashes; node 3 calls an election and wins although node 5's accept is lost;
// node 1 restarts and becomes a slave.
inline sim::Trace election_of_five() {
  sim::Trace trace(true);
  RunWriter run(trace);
  for (std::uint32_t i = 1; i <= 5; ++i) {
    run.fault(0, i, "starts");
    run.becomes(0, i, "startup");
  }
  std::uint32_t up = run.send(1000, 1, 0, "masterup");
  run.becomes(1000, 1, "master");
  const auto slaves = [&](double sent, std::uint32_t master, std::uint32_t number,
                          std::initializer_list<std::pair<std::uint32_t, double>> arrivals) {
    for (const auto& [id, ms] : arrivals) {
      run.receive(ms, master, id, "masterup", number, sent);
      run.becomes(ms, id, "slave");
    }
  };
  slaves(1000, 1, up, {{3, 1000.4}, {2, 1000.7}, {5, 1001.1}, {4, 1001.6}});
  run.fault(3200, 1, "crashes");
  const std::uint32_t election = run.send(8450, 3, 0, "election");
  run.becomes(8450, 3, "candidate");
  run.receive(8450.5, 3, 2, "election", election, 8450);
  run.becomes(8450.5, 2, "accept");
  const std::uint32_t accept2 = run.send(8450.5, 2, 3, "accept");
  run.receive(8450.9, 3, 4, "election", election, 8450);
  run.becomes(8450.9, 4, "accept");
  const std::uint32_t accept4 = run.send(8450.9, 4, 3, "accept");
  run.lose(8451.2, 3, 1, "election", election);
  run.receive(8451.4, 2, 3, "accept", accept2, 8450.5);
  const std::uint32_t ack2 = run.send(8451.4, 3, 2, "ack");
  run.receive(8451.7, 3, 5, "election", election, 8450);
  run.becomes(8451.7, 5, "accept");
  const std::uint32_t accept5 = run.send(8451.7, 5, 3, "accept");
  run.lose(8451.7, 5, 3, "accept", accept5);
  run.receive(8451.9, 4, 3, "accept", accept4, 8450.9);
  const std::uint32_t ack4 = run.send(8451.9, 3, 4, "ack");
  run.receive(8452.2, 3, 2, "ack", ack2, 8451.4);
  run.receive(8453.1, 3, 4, "ack", ack4, 8451.9);
  up = run.send(8950, 3, 0, "masterup");
  run.becomes(8950, 3, "master");
  double answered = 8950;
  for (const auto& [id, ms] : {std::pair{2U, 8950.6}, {4U, 8950.9}, {5U, 8951.5}}) {
    run.receive(ms, 3, id, "masterup", up, 8950);
    run.becomes(ms, id, "slave");
  }
  run.lose(8951.8, 3, 1, "masterup", up);
  for (const std::uint32_t id : {2U, 4U, 5U}) {
    answered += 3;
    const std::uint32_t number = run.send(answered, id, 3, "slaveup");
    run.receive(answered + 0.8, id, 3, "slaveup", number, answered);
  }
  run.fault(12000, 1, "starts");
  run.becomes(12000, 1, "startup");
  const std::uint32_t request = run.send(12000, 1, 0, "masterreq");
  run.receive(12000.5, 1, 3, "masterreq", request, 12000);
  const std::uint32_t answer = run.send(12000.5, 3, 1, "masterack");
  for (const auto& [id, ms] : {std::pair{2U, 12000.6}, {5U, 12000.9}, {4U, 12001.2}})
    run.receive(ms, 1, id, "masterreq", request, 12000);
  run.receive(12001.6, 3, 1, "masterack", answer, 12000.5);
  run.becomes(12001.6, 1, "slave");
  return trace;
}

}  // namespace tempo::report
