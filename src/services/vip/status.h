// Requests to tempo-vip and its answers: JSON lines over its socket, and their text for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"

namespace tempo::vip {

enum class Request : std::uint8_t { status, suspend, resume };
Result<Request> request_in(std::string_view line);
std::string request_line(Request request);

struct GroupStatus {
  std::string group;
  std::string interface;
  std::vector<std::string> addresses;
  std::string state;   // of the holder: hold, follow, away ...
  std::string leader;  // name of another machine that leads; empty: none known
  std::uint64_t term = 0;
  Nanos since{0};       // time in this state
  std::string reason;   // why it is no candidate; empty: it is one
  bool tempod = false;  // tempod knows it as a candidate
  Nanos closes_in{0};   // time until the kernel closes the gate; zero: closed
  std::string gate;     // name of its tables
};
std::string status_line(const std::vector<GroupStatus>& groups);
std::string done_line();
std::string error_line(const std::string& message);

// The data of an answer, or its error.
Result<Json> data_in(std::string_view line);
// For people, from the data of a status.
std::string status_text(const Json& data);

}  // namespace tempo::vip
