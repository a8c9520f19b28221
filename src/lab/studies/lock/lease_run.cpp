#include "lab/studies/lock/lease_run.h"

#include <algorithm>

#include "lab/studies/lock/lease_cluster.h"

namespace tempo::sim::lease {

void Outcome::add(const Outcome& other) {
  tally.add(other.tally);
  revivals += other.revivals;
  lost += other.lost;
  deadlines += other.deadlines;
  crashes += other.crashes;
  orphans += other.orphans;
  resumes += other.resumes;
  views += other.views;
  blocked += other.blocked;
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] += other.sent[i];
  if (broken == nullptr) broken = other.broken;
  ended = std::max(ended, other.ended);
  events += other.events;
}

Outcome run(const Setup& setup) { return Cluster(setup).run(); }

}  // namespace tempo::sim::lease
