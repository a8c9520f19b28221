#include "cli/operations/keys.h"

#include <string>
#include <vector>

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"

namespace tempo::cli {
namespace {

constexpr double kSilent_s = 5;  // a member that runs has answered within this time

Json list_of(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push(text);
  return list;
}

Json json_of(const obs::Snapshot& snapshot, const obs::KeyReport& report) {
  Json members = Json::array();
  for (const obs::MemberView& member : snapshot.members)
    members.push(Json::object()
                     .add("name", member.name)
                     .add("id", member.id)
                     .add("self", member.self)
                     .add("seals", member.seals)
                     .add("opens", list_of(member.opens))
                     .add("heard_ago_s", member.heard_ago_s));
  return Json::object()
      .add("sealing_key", snapshot.sealing_key)
      .add("opening_key", snapshot.opening_key)
      .add("accepts_unsealed", !snapshot.authenticated)
      .add("next", obs::name_of(report.next))
      .add("safe", report.safe)
      .add("lacking", list_of(report.lacking))
      .add("silent", list_of(report.silent))
      .add("text", report.text)
      .add("members", members);
}

}  // namespace

obs::KeyReport report_on_keys(const obs::Snapshot& snapshot) {
  return obs::key_report(snapshot, kSilent_s);
}

int keys(const DaemonArguments& arguments) {
  const auto reply = ask(arguments, request_of(ipc::Verb::keys));
  if (!reply) return reply.error();
  const auto snapshot = snapshot_in(*reply);
  if (!snapshot) return snapshot.error();
  const obs::KeyReport report = report_on_keys(*snapshot);
  if (arguments.json) {
    print_json(json_of(*snapshot, report));
  } else {
    print("{}\n", obs::keys_text(*snapshot));
    if (!snapshot->authenticated && snapshot->keys > 0)
      print("Datagrams without a key are accepted.\n");
    std::string text = report.text;
    text[0] = static_cast<char>(text[0] >= 'a' && text[0] <= 'z' ? text[0] - 'a' + 'A' : text[0]);
    print("{}.\n", text);
  }
  return report.safe ? kDone : kViolation;
}

}  // namespace tempo::cli
