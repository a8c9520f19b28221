// HTTP requests to etcd, any number at once. Only http.cpp uses libcurl.
//
// A request goes to the endpoint that answered last; if it refuses the connection, to the next one.
// An answer may take `timeout` (at least five seconds if the request is not urgent) and have 4 MB.
// `wait` returns when an answer has arrived or one of the given descriptors is ready.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"
#include "services/etcd/etcd_api.h"

namespace tempo::etcd {

class Http {
 public:
  struct Options {
    std::vector<std::string> endpoints;  // "http://10.0.0.1:2379"; at least one
    std::string ca_file{};               // CA file for https; empty: that of the system
    std::string cert_file{};             // client certificate, with its key; empty: none
    std::string key_file{};
    Nanos timeout{0};  // of an urgent request
  };
  static Result<std::unique_ptr<Http>> create(Options options);
  virtual ~Http() = default;

  using Answer = std::move_only_function<void(const Result<Json>&)>;
  virtual void post(const Request& request, Answer answer) = 0;
  // A stream of answers, one per line, until it ends with an error.
  virtual void follow(const Request& request, Answer each) = 0;

  // Delivers answers. Sets the revents of `others`.
  virtual void wait(std::vector<pollfd>& others, Nanos longest) = 0;
};

}  // namespace tempo::etcd
