// Metrics for Prometheus: text of a snapshot and of the state of the locks.
//
// Pure functions. doc/reference/metrics.md lists every family; tests compare it, the manual page
// and the alerts with `all_metrics`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/control_protocol.h"
#include "api/snapshot.h"

namespace tempo::obs {

enum class MetricsFormat : std::uint8_t {
  prometheus,  // text exposition format 0.0.4
  openmetrics  // OpenMetrics 1.0.0
};

// `locks` unset: without the metrics of locks.
std::string metrics_text(const Snapshot& snapshot, const std::optional<ipc::LocksView>& locks,
                         MetricsFormat format = MetricsFormat::prometheus);

struct MetricHelp {
  std::string_view name;    // of a counter with its suffix _total
  std::string_view type;    // gauge, counter, histogram
  std::string_view unit;    // as the name ends; empty: none
  std::string_view labels;  // names, separated by ", "; empty: none
  std::string_view meaning;
};
std::vector<MetricHelp> all_metrics();

}  // namespace tempo::obs
