// Fuzzes the control protocol, which any program on the host can use: any line is parsed or refused
// with an error message, and a parsed request, written again, parses as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/control_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ipc = tempo::ipc;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto request = ipc::parse_request(line);
  if (request) {
    if (ipc::parse_request(ipc::request_line(*request)) != request) std::abort();
  } else {
    const auto reply = ipc::parse_reply(ipc::refusal_line(request.error()));
    if (!reply || !reply->refusal || reply->refusal->code != request.error().code) std::abort();
  }
  if (const auto reply = ipc::parse_reply(line)) {
    (void)ipc::now_of(*reply);
    (void)ipc::event_of(*reply);
    (void)ipc::reelected_of(*reply);
    (void)ipc::trace_of(*reply);
    (void)ipc::findings_of(*reply);
    (void)ipc::members_findings_of(*reply);
    (void)ipc::locks_of(*reply);
    if (const auto update = ipc::lock_of(*reply)) {
      const auto again = ipc::parse_reply(ipc::lock_line(*update));
      if (!again || !ipc::lock_of(*again)) std::abort();
    }
  }
  return 0;
}
