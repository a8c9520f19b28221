#include "cluster.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <string>
#include <thread>

#include <fmt/core.h>

namespace tempo::faults {
namespace {

using Kind = Fault::Kind;

std::uint32_t host_of(const Fault& fault) {
  return static_cast<std::uint32_t>(std::countr_zero(fault.hosts));
}

// The hub's ends of these hosts' links, as a set of nft.
std::string ends_of(std::uint32_t hosts) {
  std::string ends;
  for (std::uint32_t i = 0; hosts >> i != 0; ++i)
    if ((hosts >> i & 1U) != 0) ends += fmt::format("{}h{}e0", ends.empty() ? "" : ", ", i + 1);
  return "{ " + ends + " }";
}

}  // namespace

void Cluster::run(const Schedule& schedule) {
  struct Step {
    Nanos at;
    bool begins;
    const Fault* fault;
  };
  std::vector<Step> steps;
  for (const Fault& fault : schedule.faults) {
    steps.push_back({fault.begin, true, &fault});
    steps.push_back({fault.end, false, &fault});
  }
  std::ranges::stable_sort(steps, {}, &Step::at);
  const auto start = std::chrono::steady_clock::now();
  for (const Step& step : steps) {
    std::this_thread::sleep_until(start + step.at);
    if (step.begins)
      begin(*step.fault);
    else
      end(*step.fault);
  }
}

void Cluster::begin(const Fault& fault) {
  active_.push_back(fault);
  switch (fault.kind) {
    case Kind::kill:
      return site_->host(host_of(fault)).kill_all();
    case Kind::crash:
      return site_->host(host_of(fault)).kill_worker();
    case Kind::stop:
      return site_->host(host_of(fault)).pause(true);
    case Kind::restart: {
      testbed::Host& host = site_->host(host_of(fault));
      host.pause(false);  // a stopped process cannot shut down cleanly
      return host.stop();
    }
    case Kind::link_down:
      return site_->host(host_of(fault)).set_link(false);
    case Kind::deaf:
    case Kind::partition:
    case Kind::loss:
      return set_network();
    case Kind::kill_client:
      return workload_->kill(fault.client);
    case Kind::stop_client:
      return workload_->pause(fault.client, true);
    case Kind::count:
      break;
  }
}

void Cluster::end(const Fault& fault) {
  active_.erase(std::ranges::find(active_, fault));
  switch (fault.kind) {
    case Kind::kill:
    case Kind::restart:
      return start_if_free(host_of(fault));
    case Kind::crash: {
      // The parent waits longer after each crash; the schedule does not wait for it.
      testbed::Host& host = site_->host(host_of(fault));
      if (host.running() && host.worker() == 0) host.kill_all();
      return start_if_free(host_of(fault));
    }
    case Kind::stop:
      return continue_if_free(host_of(fault));
    case Kind::link_down:
      if (!affected(Kind::link_down, host_of(fault))) site_->host(host_of(fault)).set_link(true);
      return;
    case Kind::deaf:
    case Kind::partition:
    case Kind::loss:
      return set_network();
    case Kind::kill_client:
      return workload_->revive(fault.client);
    case Kind::stop_client:
      if (std::ranges::none_of(active_, [&](const Fault& other) {
            return other.kind == Kind::stop_client && other.client == fault.client;
          }))
        workload_->pause(fault.client, false);
      return;
    case Kind::count:
      break;
  }
}

bool Cluster::affected(Kind kind, std::uint32_t host) const {
  return std::ranges::any_of(active_, [&](const Fault& fault) {
    return fault.kind == kind && (fault.hosts >> host & 1U) != 0;
  });
}

void Cluster::start_if_free(std::uint32_t host) {
  if (site_->host(host).running() || affected(Kind::kill, host) || affected(Kind::restart, host))
    return;
  site_->host(host).start();
}

void Cluster::continue_if_free(std::uint32_t host) {
  if (!affected(Kind::stop, host)) site_->host(host).pause(false);
}

void Cluster::set_network() {
  std::vector<std::string> rules;
  for (const Fault& fault : active_) {
    if (fault.kind == Kind::deaf)
      rules.push_back(fmt::format("oifname {} drop", ends_of(fault.hosts)));
    if (fault.kind == Kind::loss)
      rules.push_back(fmt::format("numgen random mod 100 < {} drop", fault.percent));
    if (fault.kind != Kind::partition) continue;
    const std::uint32_t all = (1U << site_->size()) - 1;
    const std::string inside = ends_of(fault.hosts);
    const std::string outside = ends_of(all & ~fault.hosts);
    rules.push_back(fmt::format("iifname {} oifname {} drop", inside, outside));
    rules.push_back(fmt::format("iifname {} oifname {} drop", outside, inside));
  }
  site_->filter(rules);
}

}  // namespace tempo::faults
