// The codes of the findings of `tempo doctor`. A code is stable: it never gets another meaning, and
// doc/guide/troubleshooting.md explains each (a test compares the two).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tempo::ipc {

enum class FindingCode : std::uint8_t {
  tempod_silent,
  bad_configuration,
  no_network,
  interface_down,
  no_carrier,
  port,
  firewall,
  one_way,
  cut_off,
  alone,
  member_silent,
  minority,
  other_cluster,
  unsealed,
  other_key,
  forged,
  no_key,
  key_file,
  key_change,
  other_timers,
  other_expect,
  other_lease,
  other_revision,
  no_majority,
  split_voters,
  record_lost,
  twin,
  too_many_hosts,
  clock_not_steerable,
  second_time_daemon,
  no_network_time,
  no_timestamps,
  disk,
  unconfined,
  network_unusable,
  no_answer,
  faulty_clock,
  same_name,
  not_sent,
  findings_lost,
  warning,
  no_permission,
  too_many_machines,
  count
};

struct FindingKind {
  std::string_view code;
  std::string_view title;  // as in the page
};
inline constexpr auto kFindingKinds = std::to_array<FindingKind>({
    {"T001", "tempod does not answer"},
    {"T002", "the configuration file is invalid"},
    {"T003", "no network is usable"},
    {"T004", "a configured interface is down or missing"},
    {"T005", "an interface has no link"},
    {"T006", "the UDP port is closed, or another program uses it"},
    {"T007", "a firewall drops packets"},
    {"T008", "datagrams pass in one direction only"},
    {"T009", "no other member is heard any more"},
    {"T010", "no other member is heard"},
    {"T011", "a member is silent"},
    {"T012", "less than half of the members are heard"},
    {"T013", "another cluster uses this network"},
    {"T014", "datagrams without a key are refused"},
    {"T015", "datagrams under another key are refused"},
    {"T016", "datagrams with a wrong authenticator are refused"},
    {"T017", "there is no key"},
    {"T018", "the key file is unusable or unsafe"},
    {"T019", "a key change is in progress"},
    {"T020", "members have different timers"},
    {"T021", "members expect different numbers of voters"},
    {"T022", "members have different lease lengths"},
    {"T023", "members have different versions or revisions"},
    {"T024", "locks have no majority of the voters"},
    {"T025", "two parts of the network have different voters"},
    {"T026", "the lock record is lost"},
    {"T027", "two machines have the same host id"},
    {"T028", "too many host ids were heard"},
    {"T029", "the clock cannot be steered"},
    {"T030", "a second program steers the clock"},
    {"T031", "there is no network time"},
    {"T032", "the kernel does not timestamp datagrams"},
    {"T033", "the state directory cannot be written"},
    {"T034", "tempod runs without confinement"},
    {"T035", "a network cannot be used"},
    {"T036", "a member does not answer"},
    {"T037", "the clock of a member is faulty"},
    {"T038", "two machines have the same name"},
    {"T039", "datagrams cannot be sent"},
    {"T040", "findings of a member are lost"},
    {"T041", "tempod warns"},
    {"T042", "a check needs root"},
    {"T043", "too many machines for the number of voters"},
});
static_assert(kFindingKinds.size() == std::to_underlying(FindingCode::count));

constexpr std::string_view name_of(FindingCode code) {
  return kFindingKinds.at(std::to_underlying(code)).code;
}

}  // namespace tempo::ipc
