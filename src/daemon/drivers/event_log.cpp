#include "daemon/drivers/event_log.h"

#include "daemon/log.h"

namespace tempo::daemon {

void EventLog::emit(std::string what, std::string details) {
  log_event(what, details);
  if (parent_ != nullptr) parent_->send(what + '\t' + details);
  ++counts_[what];
  events_.push_back({std::move(what), std::move(details), now_().time_since_epoch().count()});
  if (events_.size() > kMaxEvents) events_.pop_front();
  ++count_;
}

}  // namespace tempo::daemon
