// An experiment: a piece of a paper that is worked out, simulated or checked, and what comes of it.
//
// Experiments call the simulations, checks and formulas that `tempo sim`, `tempo check` and `tempo
// analyze` call. What one finds depends on its effort and seed, and neither on the number of
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
  glance,  // to see whether everything runs
  quick,
  full,  // narrower intervals
};
std::string_view name_of(Effort effort);

// A drawn run: a fragment of HTML (report::space_time_figure).
struct Diagram {
  std::string id{};  // as a chart's
  std::string title{};
  std::string caption{};
  std::string html{};
};

struct Findings {
  std::vector<Claim> claims{};
  std::vector<report::Chart> charts{};
  std::vector<Diagram> diagrams{};
};

// Where an experiment is run: how much of it, and with how many hands.
class Workshop {
 public:
  virtual ~Workshop() = default;

  virtual Effort effort() const = 0;
  virtual std::uint64_t seed() const = 0;
  virtual std::uint32_t threads() const = 0;
  // Somebody has asked to end it: what is found from now on is thrown away.
  virtual bool stopped() const = 0;
  // Calls work(number) once for each number below count, in any order, on any thread; if it is
  // stopped, for fewer.
  virtual void each(std::uint64_t count, const std::function<void(std::uint64_t)>& work) = 0;
  // Called now and then by work that is not done by `each`, to show how far it is.
  virtual void breathe() {}

  // So many runs, if quick has this many.
  std::uint64_t runs(std::uint64_t quick) const;

 protected:
  Workshop() = default;
  Workshop(const Workshop&) = default;
  Workshop& operator=(const Workshop&) = default;
  Workshop(Workshop&&) = default;
  Workshop& operator=(Workshop&&) = default;
};

// work(number) for each number, in their order. If it is stopped, some are as they were made.
template <class Work>
auto gathered(Workshop& workshop, std::uint64_t count, Work work) {
  std::vector<decltype(work(std::uint64_t{}))> results(count);
  workshop.each(count, [&](std::uint64_t number) { results[number] = work(number); });
  return results;
}

struct Experiment {
  std::string_view name;  // letters and hyphens, once
  Paper paper;
  std::string_view title;
  std::string_view about;  // a sentence or two
  double seconds;          // what quick takes on two cores, about
  Findings (*run)(Workshop&);
};

// All, in the order of the papers.
const std::vector<Experiment>& experiments();

}  // namespace tempo::papers
