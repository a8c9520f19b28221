// Any program on the host can connect: whatever it sends is understood or refused with a sentence,
// and what was understood, written again, says the same.
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
    const auto describe_steps = ipc::parse_reply(ipc::refusal_line(request.error()));
    if (!describe_steps || !describe_steps->refusal ||
        describe_steps->refusal->code != request.error().code)
      std::abort();
  }
  if (const auto reply = ipc::parse_reply(line)) {
    (void)ipc::now_of(*reply);
    (void)ipc::event_of(*reply);
    (void)ipc::trace_of(*reply);
    (void)ipc::findings_of(*reply);
    (void)ipc::members_findings_of(*reply);
    (void)ipc::locks_of(*reply);
    if (const auto news = ipc::lock_of(*reply)) {
      const auto again = ipc::parse_reply(ipc::lock_line(*news));
      if (!again || !ipc::lock_of(*again)) std::abort();
    }
  }
  return 0;
}
