// Checks of configuration values beyond their kind and range, and the names that some keys accept.
//
// A check returns the end of an error message that begins with the key's name, or nullopt if the
// value is valid.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/config_keys.h"

namespace tempo::config {

using CheckResult = std::optional<std::string>;

inline constexpr std::array<std::pair<std::string_view, Mode>, 2> kModes{
    {{"tempo", Mode::tempo}, {"classic", Mode::classic}}};

inline constexpr std::array<std::pair<std::string_view, ClockKind>, 3> kClocks{
    {{"system", ClockKind::system}, {"software", ClockKind::software}, {"none", ClockKind::none}}};

inline constexpr std::array<std::pair<std::string_view, KernelClaims>, 2> kKernelClaims{
    {{"network", KernelClaims::network}, {"utc", KernelClaims::utc}}};

inline constexpr std::array<std::pair<std::string_view, LockPolicy>, 4> kPolicies{
    {{"strict", LockPolicy::strict},
     {"witness", LockPolicy::witness},
     {"preferred", LockPolicy::preferred},
     {"available", LockPolicy::available}}};

inline constexpr std::array<std::pair<std::string_view, LockBackEnd>, 2> kBackEnds{
    {{"tempo", LockBackEnd::tempo}, {"etcd", LockBackEnd::etcd}}};

inline constexpr std::array<std::pair<std::string_view, RemoteRead>, 3> kRemoteReads{
    {{"key", RemoteRead::key}, {"open", RemoteRead::open}, {"off", RemoteRead::off}}};

CheckResult bad_mode(const Value& value);
CheckResult bad_text(const Value& value);       // printable ASCII, at most 63 characters
CheckResult bad_host_name(const Value& value);  // empty, or labels with dots between them
CheckResult bad_cluster(const Value& value);
CheckResult bad_path(const Value& value);
CheckResult bad_socket(const Value& value);
CheckResult bad_path_or_none(const Value& value);
CheckResult bad_interfaces(const Value& value);
CheckResult bad_addresses(const Value& value);
CheckResult bad_prefixed_addresses(const Value& value);
CheckResult bad_users(const Value& value);
CheckResult bad_group(const Value& value);
CheckResult bad_interface(const Value& value);
CheckResult bad_command(const Value& value);
CheckResult bad_broadcast(const Value& value);
CheckResult bad_profile(const Value& value);
CheckResult bad_clock(const Value& value);
CheckResult bad_kernel_claims(const Value& value);
CheckResult bad_remote_read(const Value& value);
CheckResult bad_policy(const Value& value);
CheckResult bad_back_end(const Value& value);
CheckResult bad_voters(const Value& value);
CheckResult bad_endpoints(const Value& value);
CheckResult bad_log_level(const Value& value);

}  // namespace tempo::config
