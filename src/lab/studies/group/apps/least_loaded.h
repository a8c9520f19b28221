// least-loaded: every job is given to one processor, and to none that had a higher load than
// another during the whole time from the beginning of its turn until it was given out.
//
// The load of a processor is counted from the jobs given to it, not reported by it.
#pragma once

#include "lab/studies/group/apps/property.h"

namespace tempo::sim::apps {

class LeastLoaded : public Property {
 public:
  struct Job {
    Nanos lasts{0};  // run time for each unit of its size
    Nanos waits{0};  // time before it runs
  };
  // The members' clocks, and therefore their ends of a job, differ by up to `precision`.
  LeastLoaded(std::uint32_t nodes, const Job& job, Nanos precision)
      : Property(nodes), job_(job), precision_(precision), given_(nodes) {}

  void noticed(const Scene& scene, NodeId node, const Notice& notice) {
    Waiting& job = jobs_[notice.value];
    if (notice.kind == Notice::Kind::accepted) {
      asked(notice.value, scene.now);
      job.size = notice.number;
      job.known_to.push_back(node);
    }
    if (notice.kind == Notice::Kind::begins) job.begins = std::min(job.begins, scene.now);
    if (notice.kind == Notice::Kind::done) give(scene, notice, job);
  }

  void ended(const Scene& scene) {
    for (const auto& [task, job] : jobs_)
      if (job.to == kNobody &&
          std::ranges::any_of(job.known_to, [&](NodeId node) { return scene.up[index(node)]; }))
        breaks(scene, fmt::format("job {} is never given out", task_text(task)));
  }

 private:
  struct Waiting {
    std::uint32_t size = 0;
    Instant begins = kNever;
    std::vector<NodeId> known_to{};
    NodeId to = kNobody;
  };
  struct Given {
    std::uint32_t size = 0;
    Instant ends{};
  };

  void give(const Scene& scene, const Notice& notice, Waiting& job) {
    if (job.to == notice.node) return;  // another member has received the message too
    if (job.to != kNobody)
      return breaks(scene, fmt::format("job {} is given out twice", task_text(notice.value)));
    job.to = notice.node;
    const std::uint64_t least = load(job.to, scene.now + precision_);
    for (std::uint32_t i = 0; i < given_.size(); ++i)
      if (const std::uint64_t other = load(NodeId{i}, job.begins - precision_);
          scene.up[i] && other < least)
        breaks(scene, fmt::format("job {} goes to {} with a load of {}, and {} has only {}",
                                  task_text(notice.value), shown(job.to), least, i + 1, other));
    did(notice.value, job.to, scene.now);
    given_[index(job.to)].push_back(
        {.size = job.size, .ends = scene.now + job_.waits + job.size * job_.lasts});
  }

  std::uint64_t load(NodeId node, Instant at) const {
    std::uint64_t load = 0;
    for (const Given& given : given_[index(node)])
      if (given.ends > at) load += given.size;
    return load;
  }

  Job job_;
  Nanos precision_;
  std::map<std::uint64_t, Waiting> jobs_;
  std::vector<std::vector<Given>> given_;  // by processor
};

}  // namespace tempo::sim::apps
