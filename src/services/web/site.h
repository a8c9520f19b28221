// The site: which request gets which answer. No I/O, no library.
//
// Read-only: no request changes anything. A request must name a host that belongs to this server,
// so that a foreign page cannot reach it through a name of its own (DNS rebinding), and, if there
// is a token, must carry it: as "Authorization: Bearer TOKEN", as a cookie, or once as
// ?token=TOKEN, which sets the cookie.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/page_file.h"
#include "base/units.h"
#include "services/web/messages.h"
#include "services/web/model.h"

namespace tempo::web {

struct Request {
  std::string_view path{};
  std::string_view host{};           // header Host
  std::string_view authorization{};  // headers; empty: absent
  std::string_view cookie{};
  std::string_view accept{};
  std::string_view token{};  // arguments of the query; empty: absent
  std::string_view id{};
  std::string_view span_s{};
};

struct Response {
  unsigned status = 200;
  std::string_view type = "text/plain; charset=utf-8";
  Text body{};
  bool stream = false;  // the event stream; `body` is its first message
  std::vector<std::pair<std::string_view, std::string>> headers{};
};

// Headers of every response.
struct Header {
  const char* name;
  const char* value;
};
inline constexpr std::array kHeaders{
    Header{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
           "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    Header{"X-Content-Type-Options", "nosniff"},
    Header{"Referrer-Policy", "no-referrer"},
    Header{"Cross-Origin-Opener-Policy", "same-origin"},
    Header{"Cross-Origin-Resource-Policy", "same-origin"},
    Header{"Cache-Control", "no-store"},
};

class Site {
 public:
  struct Options {
    std::vector<std::string> hosts;  // names and addresses of this server, without port
    std::string token;               // empty: none is required
    std::string page;                // path of the time page; empty: there is none
  };
  // `model` must outlive this object.
  Site(const Model& model, Options options) : model_(&model), options_(std::move(options)) {}

  Response answer(const Request& request, Instant now) const;

 private:
  bool known_host(std::string_view host) const;
  bool has_token(const Request& request) const;
  Response api(std::string_view verb, const Request& request, Instant now) const;
  std::string now_json() const;

  const Model* model_;
  Options options_;
  mutable std::optional<page::Reader> reader_;
};

}  // namespace tempo::web
