// What a value of the right kind and range may still have wrong with it: the end of a sentence that
// begins with the key's name, or nothing; and the words among which some keys choose.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/config_keys.h"

namespace tempo::config {

using Complaint = std::optional<std::string>;

inline constexpr std::array<std::pair<std::string_view, ClockKind>, 3> kClocks{
    {{"system", ClockKind::system}, {"software", ClockKind::software}, {"none", ClockKind::none}}};

inline constexpr std::array<std::pair<std::string_view, LockPolicy>, 4> kPolicies{
    {{"strict", LockPolicy::strict},
     {"witness", LockPolicy::witness},
     {"preferred", LockPolicy::preferred},
     {"available", LockPolicy::available}}};

inline constexpr std::array<std::pair<std::string_view, LockBackEnd>, 2> kBackEnds{
    {{"tempo", LockBackEnd::tempo}, {"etcd", LockBackEnd::etcd}}};

Complaint bad_name(const Value& value);
Complaint bad_cluster(const Value& value);
Complaint bad_path(const Value& value);
Complaint bad_socket(const Value& value);
Complaint bad_path_or_none(const Value& value);
Complaint bad_interfaces(const Value& value);
Complaint bad_addresses(const Value& value);
Complaint bad_broadcast(const Value& value);
Complaint bad_profile(const Value& value);
Complaint bad_clock(const Value& value);
Complaint bad_policy(const Value& value);
Complaint bad_back_end(const Value& value);
Complaint bad_endpoints(const Value& value);
Complaint bad_log_level(const Value& value);

}  // namespace tempo::config
