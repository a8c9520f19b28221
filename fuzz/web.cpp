// Fuzzes the site of tempo-web with requests: the fields are separated by zero bytes. No request
// without the token gets anything but its refusal and the state of health.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "services/web/site.h"

namespace {

using namespace tempo;  // NOLINT(google-build-using-namespace)

std::string_view next_field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

void ask(std::string_view rest) {
  constexpr std::string_view kToken = "0123456789abcdef";
  static const web::Model model;
  static const web::Site open(model, {.hosts = {"localhost"}, .token = "", .page = ""});
  static const web::Site closed(model,
                                {.hosts = {"localhost"}, .token = std::string(kToken), .page = ""});
  web::Request request;
  for (std::string_view* field :
       {&request.path, &request.host, &request.authorization, &request.cookie, &request.accept,
        &request.token, &request.id, &request.span_s})
    *field = next_field(rest);
  const Instant now{100s};
  CHECK(open.answer(request, now).body != nullptr);
  const web::Response response = closed.answer(request, now);
  CHECK(response.body != nullptr);
  const bool has_token = request.authorization.find(kToken) != request.authorization.npos ||
                         request.cookie.find(kToken) != request.cookie.npos ||
                         request.token == kToken;
  if (!has_token && request.path != "/healthz")
    CHECK(response.status == 401 || response.status == 421);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ask({reinterpret_cast<const char*>(data), size});
  return 0;
}
