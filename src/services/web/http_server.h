// HTTP for a site, by libmicrohttpd: connections, their limits, and the readers of the event
// stream.
//
// One thread and no blocking call: the caller polls `descriptor` and calls `run`. Bounds: a full
// server closes the connection that has waited longest without a complete request; a request must
// be complete within kRequestTime; a reader of the event stream that falls behind is disconnected.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "platform/address.h"
#include "services/web/messages.h"
#include "services/web/site.h"

namespace tempo::web {

class HttpServer {
 public:
  static constexpr unsigned kMaxConnections = 512;
  static constexpr std::size_t kMaxStreams = 256;
  static constexpr Nanos kRequestTime = 5s;    // for the first byte up to the end of a request
  static constexpr Nanos kResponseTime = 30s;  // for reading a response that is no stream
  static constexpr Nanos kHeartbeat = 10s;     // of an event stream without events

  // Listens. `site` and `messages` must outlive this object.
  static Result<std::unique_ptr<HttpServer>> open(const sys::Address& listen, const Site& site,
                                                  const Messages& messages);
  virtual ~HttpServer() = default;

  virtual int descriptor() const = 0;  // to poll for POLLIN
  // Serves what is ready, and sends new messages. Call it when the descriptor is ready, after new
  // messages, and at least four times a second. True: there is more to do, call it again at once.
  virtual bool run(Instant now) = 0;
  virtual sys::Address address() const = 0;  // on which it listens
  virtual std::size_t connections() const = 0;
  virtual std::size_t streams() const = 0;
};

}  // namespace tempo::web
