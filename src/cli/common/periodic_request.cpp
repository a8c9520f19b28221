#include "cli/common/periodic_request.h"

#include <algorithm>
#include <utility>

#include "cli/common/daemon.h"
#include "cli/common/interrupt.h"

namespace tempo::cli {
namespace {

constexpr Nanos kPeriod = 1s;
constexpr Nanos kFirst = 200ms;  // a command that need not wait sends no request
constexpr Nanos kConnectTimeout = 50ms;

}  // namespace

PeriodicRequest::PeriodicRequest(std::string socket, ipc::Verb verb, bool enabled)
    : socket_(std::move(socket)), verb_(verb), enabled_(enabled), due_(steady_now() + kFirst) {}

Nanos PeriodicRequest::timeout() const {
  return enabled_ ? std::max(due_ - steady_now(), Nanos{0}) : kPeriod;
}

std::optional<ipc::Reply> PeriodicRequest::update() {
  std::optional<ipc::Reply> newest;
  if (!enabled_) return newest;
  while (client_) {
    auto reply = client_->next(Nanos{0});
    if (!reply) client_.reset();
    if (!reply || !*reply) break;
    newest = *std::move(reply);
  }
  if (steady_now() < due_) return newest;
  due_ = steady_now() + kPeriod;
  if (!client_) {
    auto connected = client::Client::connect(socket_, kConnectTimeout);
    if (!connected) return newest;
    client_ = *std::move(connected);
  }
  if (!client_->send(request_of(verb_))) client_.reset();
  return newest;
}

}  // namespace tempo::cli
