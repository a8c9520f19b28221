// Questions to etcd over HTTP, any number at once; the only file that knows libcurl.
//
// A question goes to the endpoint that answered last; where nobody listens the next one is asked.
// No answer is waited for longer than `patience` (five seconds, if it is not urgent), none is
// larger than 4 MB, and none is awaited in silence: `wait` returns when something has come, here or
// at the descriptors it is given.
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
#include "services/etcd/words.h"

namespace tempo::etcd {

class Http {
 public:
  struct Options {
    std::vector<std::string> endpoints;  // "http://10.0.0.1:2379"; one at least
    std::string ca_file{};               // of https; empty: the system's
    std::string cert_file{};             // this machine's, with its key; empty: none
    std::string key_file{};
    Nanos patience{0};
  };
  static Result<std::unique_ptr<Http>> create(Options options);
  virtual ~Http() = default;

  using Answer = std::move_only_function<void(const Result<Json>&)>;
  virtual void post(const Question& question, Answer answer) = 0;
  // A stream of answers, a line each, until it ends with a failure.
  virtual void follow(const Question& question, Answer each) = 0;

  // Calls what has an answer. `others` get their revents.
  virtual void wait(std::vector<pollfd>& others, Nanos longest) = 0;
};

}  // namespace tempo::etcd
