// An experiment: a part of a paper that is computed, simulated or checked, and its findings.
//
// Experiments call the simulations, checks and formulas that `tempo sim`, `tempo check` and `tempo
// analyze` call. The findings depend on the effort and the seed, but neither on the number of
// threads nor on the other experiments.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/papers/claim.h"
#include "lab/report/chart.h"

namespace tempo::papers {

enum class Effort : std::uint8_t {
  glance,  // tests that everything runs
  quick,
  full,  // narrower intervals
};
std::string_view name_of(Effort effort);

// A drawn run: an HTML fragment (report::space_time_figure).
struct Diagram {
  std::string id{};  // like the id of a chart
  std::string title{};
  std::string caption{};
  std::string html{};
};

struct Findings {
  std::vector<Claim> claims{};
  std::vector<report::Chart> charts{};
  std::vector<Diagram> diagrams{};
};

// The environment of an experiment: effort, seed and threads.
class Workshop {
 public:
  virtual ~Workshop() = default;

  virtual Effort effort() const = 0;
  virtual std::uint64_t seed() const = 0;
  virtual std::uint32_t threads() const = 0;
  // True after a request to stop: later findings are discarded.
  virtual bool stopped() const = 0;
  // Calls work(number) once for each number below count, in any order, on any thread; after a stop,
  // for fewer numbers.
  virtual void each(std::uint64_t count, const std::function<void(std::uint64_t)>& work) = 0;
  // Called regularly by work outside `each`, to show progress.
  virtual void breathe() {}

  // Number of runs at this effort, if `quick` has this many.
  std::uint64_t runs(std::uint64_t quick) const;

 protected:
  Workshop() = default;
  Workshop(const Workshop&) = default;
  Workshop& operator=(const Workshop&) = default;
  Workshop(Workshop&&) = default;
  Workshop& operator=(Workshop&&) = default;
};

// Results of work(number) in the order of the numbers. After a stop some keep their initial value.
template <class Work>
auto gathered(Workshop& workshop, std::uint64_t count, Work work) {
  std::vector<decltype(work(std::uint64_t{}))> results(count);
  workshop.each(count, [&](std::uint64_t number) { results[number] = work(number); });
  return results;
}

struct Experiment {
  std::string_view name;  // letters and hyphens, unique
  Paper paper;
  std::string_view title;
  std::string_view about;  // one or two sentences
  double seconds;          // approximate duration of `quick` on two cores
  Findings (*run)(Workshop&);
};

// All experiments, in the order of the papers.
const std::vector<Experiment>& experiments();

}  // namespace tempo::papers
