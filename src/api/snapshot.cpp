#include "api/snapshot.h"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <utility>

#include "base/json.h"

namespace tempo::obs {
namespace {

// One list of fields for writing and reading: `fields(view, visit)` calls visit(name, member).

template <class View, class Visit>
  requires std::is_same_v<std::remove_const_t<View>, NetworkView>
void fields(View& view, const Visit& visit) {
  visit("name", view.name);
  visit("state", view.state);
  visit("master", view.master);
  visit("master_id", view.master_id);
  visit("epoch_round", view.epoch_round);
  visit("listed", view.listed);
  visit("heir", view.heir);
  visit("root", view.root);
  visit("hops", view.hops);
  visit("kernel_stamps", view.kernel_stamps);
  visit("hardware_stamps", view.hardware_stamps);
}

template <class View, class Visit>
  requires std::is_same_v<std::remove_const_t<View>, MemberView>
void fields(View& view, const Visit& visit) {
  visit("name", view.name);
  visit("id", view.id);
  visit("address", view.address);
  visit("role", view.role);
  visit("self", view.self);
  visit("faulty", view.faulty);
  visit("heard_ago_s", view.heard_ago_s);
  visit("state", view.state);
  visit("only_mentioned", view.only_mentioned);
  visit("status", view.status);
  visit("uptime_s", view.uptime_s);
  visit("revision", view.revision);
  visit("version", view.version);
  visit("profile", view.profile);
  visit("timers", view.timers);
  visit("expect", view.expect);
  visit("lease_ms", view.lease_ms);
  visit("lease_max_ms", view.lease_max_ms);
  visit("hears", view.hears);
  visit("misses_this_host_s", view.misses_this_host_s);
  visit("seals", view.seals);
  visit("opens", view.opens);
  visit("rate_ppm", view.rate_ppm);
  visit("sigma_us", view.sigma_us);
  visit("bound_us", view.bound_us);
  visit("offset_us", view.offset_us);
}

template <class View, class Visit>
  requires std::is_same_v<std::remove_const_t<View>, GroupView>
void fields(View& view, const Visit& visit) {
  visit("name", view.name);
  visit("leader", view.leader);
  visit("term", view.term);
  visit("here", view.here);
  visit("state", view.state);
  visit("criterion", view.criterion);
  visit("algorithm", view.algorithm);
  visit("held", view.held);
  visit("candidates", view.candidates);
}

template <class View, class Visit>
  requires std::is_same_v<std::remove_const_t<View>, Snapshot>
void fields(View& view, const Visit& visit) {
  visit("version", view.version);
  visit("name", view.name);
  visit("id", view.id);
  visit("cluster", view.cluster);
  visit("pid", view.pid);
  visit("uptime_s", view.uptime_s);
  visit("profile", view.profile);
  visit("authenticated", view.authenticated);
  visit("keys", view.keys);
  visit("sealing_key", view.sealing_key);
  visit("opening_key", view.opening_key);
  visit("key_change", view.key_change);
  visit("keys_since_s", view.keys_since_s);
  visit("user", view.user);
  visit("capabilities", view.capabilities);
  visit("system_call_filter", view.system_call_filter);
  visit("clock", view.clock);
  visit("status", view.status);
  visit("time_ns", view.time_ns);
  visit("earliest_ns", view.earliest_ns);
  visit("latest_ns", view.latest_ns);
  visit("bound_age_s", view.bound_age_s);
  visit("bound_round_trip_us", view.bound_round_trip_us);
  visit("bound_drift_us", view.bound_drift_us);
  visit("bound_reference_us", view.bound_reference_us);
  visit("bound_other_us", view.bound_other_us);
  visit("utc_bound_us", view.utc_bound_us);
  visit("view_members", view.view_members);
  visit("offset_us", view.offset_us);
  visit("rate_ppm", view.rate_ppm);
  visit("timescale_generation", view.timescale_generation);
  visit("exchanges", view.exchanges);
  visit("reference", view.reference);
  visit("may_lead", view.may_lead);
  visit("locks", view.locks);
  visit("warnings", view.warnings);
  visit("networks", view.networks);
  visit("members", view.members);
  visit("groups", view.groups);
  visit("counters", view.counters);
}

// --- writing ---

struct Writer {
  Json& json;

  void operator()(const char* name, const std::string& value) const { json.add(name, value); }
  void operator()(const char* name, bool value) const { json.add(name, value); }
  void operator()(const char* name, double value) const { json.add(name, value); }
  // Times in nanoseconds, above 2^53.
  void operator()(const char* name, std::int64_t value) const {
    json.add(name, std::to_string(value));
  }
  void operator()(const char* name, std::uint64_t value) const { json.add(name, value); }
  void operator()(const char* name, std::uint32_t value) const {
    json.add(name, std::uint64_t{value});
  }
  void operator()(const char* name, const std::optional<double>& value) const {
    if (value) json.add(name, *value);
  }
  void operator()(const char* name, const std::optional<std::uint32_t>& value) const {
    if (value) (*this)(name, *value);
  }
  void operator()(const char* name, const std::vector<std::string>& texts) const {
    Json list = Json::array();
    for (const std::string& text : texts) list.push(text);
    json.add(name, list);
  }
  void operator()(const char* name, const std::map<std::string, std::uint64_t>& counts) const {
    Json object = Json::object();
    for (const auto& [key, count] : counts) object.add(key, count);
    json.add(name, object);
  }
  template <class View>
  void operator()(const char* name, const std::vector<View>& views) const {
    Json list = Json::array();
    for (const View& view : views) {
      Json object = Json::object();
      fields(view, Writer{object});
      list.push(object);
    }
    json.add(name, list);
  }
};

// --- reading ---

struct Reader {
  const Json& json;
  std::string& error;  // the first error; empty: none

  void operator()(const char* name, std::string& into) const {
    take(name, json.text_at(name), into, "a string");
  }
  void operator()(const char* name, bool& into) const {
    take(name, json.flag_at(name), into, "true or false");
  }
  void operator()(const char* name, double& into) const {
    if (null(name)) return;
    take(name, json.number_at(name), into, "a number");
  }
  void operator()(const char* name, std::int64_t& into) const {
    take(name, json.whole_at(name), into, "a whole number");
  }
  void operator()(const char* name, std::uint64_t& into) const {
    take(name, json.count_at(name), into, "a whole number from 0");
  }
  void operator()(const char* name, std::uint32_t& into) const {
    std::optional<std::uint32_t> small;
    const auto count = json.count_at(name);
    if (count && std::in_range<std::uint32_t>(*count)) small = static_cast<std::uint32_t>(*count);
    take(name, small, into, "a whole number from 0 to 4294967295");
  }
  void operator()(const char* name, std::optional<double>& into) const {
    if (null(name)) return;
    double value = 0;
    take(name, json.number_at(name), value, "a number");
    if (json.has(name)) into = value;
  }
  void operator()(const char* name, std::optional<std::uint32_t>& into) const {
    if (null(name) || !json.has(name)) return;
    (*this)(name, into.emplace());
  }
  void operator()(const char* name, std::vector<std::string>& into) const {
    const auto list = array(name);
    if (!list) return;
    for (const Json& element : list->elements()) {
      const auto text = element.as_text();
      if (!text) return fail(name, "a list of strings");
      into.push_back(*text);
    }
  }
  void operator()(const char* name, std::map<std::string, std::uint64_t>& into) const {
    const auto object = json.at(name);
    if (!object) return;
    if (!object->is_object()) return fail(name, "an object");
    for (const std::string& key : object->keys()) {
      const auto count = object->count_at(key);
      if (!count) return fail(name, "an object of whole numbers from 0");
      into[key] = *count;
    }
  }
  template <class View>
  void operator()(const char* name, std::vector<View>& into) const {
    const auto list = array(name);
    if (!list) return;
    for (const Json& element : list->elements()) {
      if (!element.is_object()) return fail(name, "a list of objects");
      fields(into.emplace_back(), Reader{element, error});
    }
  }

 private:
  template <class T>
  void take(const char* name, const std::optional<T>& found, T& into, const char* type) const {
    if (found)
      into = *found;
    else if (json.has(name))
      fail(name, type);
  }
  bool null(const char* name) const {
    const auto value = json.at(name);
    return value && value->is_null();
  }
  std::optional<Json> array(const char* name) const {
    auto list = json.at(name);
    if (list && !list->is_array()) {
      fail(name, "a list");
      return std::nullopt;
    }
    return list;
  }
  void fail(const char* name, const char* type) const {
    if (error.empty()) error = std::string("member '") + name + "' is not " + type;
  }
};

}  // namespace

std::string to_json(const Snapshot& snapshot) {
  Json json = Json::object();
  fields(snapshot, Writer{json});
  return json.line();
}

std::string members_json(const Snapshot& snapshot) {
  Json json = Json::object();
  Writer{json}("members", snapshot.members);
  return json.at("members")->line();
}

Result<Snapshot> from_json(std::string_view text) {
  TRY(json, Json::parse(text));
  if (!json.is_object()) return std::unexpected(std::string("it is not a JSON object"));
  Snapshot snapshot;
  std::string error;
  fields(snapshot, Reader{json, error});
  if (!error.empty()) return std::unexpected(error);
  return snapshot;
}

std::optional<double> Snapshot::bound_us() const {
  constexpr std::array<std::string_view, 5> kBounded{"synchronized", "holdover", "leads",
                                                     "minority", "alone"};
  if (std::ranges::find(kBounded, status) == kBounded.end()) return std::nullopt;
  // Nanoseconds since 1970 do not fit into a double; differences of them do.
  const auto difference = [](std::int64_t later, std::int64_t earlier) {
    return static_cast<double>(static_cast<long double>(later) - static_cast<long double>(earlier));
  };
  return std::max(difference(latest_ns, time_ns), difference(time_ns, earliest_ns)) / 1000;
}

}  // namespace tempo::obs
