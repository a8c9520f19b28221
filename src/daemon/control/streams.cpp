#include "daemon/control/streams.h"

#include <algorithm>
#include <utility>

namespace tempo::daemon {

void Streams::begin(Connection& client, ipc::Verb verb) {
  end(client);
  streams_[&client] = {.verb = verb, .events_sent = worker_->events().count()};
  if (verb == ipc::Verb::trace_follow) worker_->trace().follow(worker_->now());
}

void Streams::end(Connection& client) {
  const auto ended = streams_.extract(&client);
  if (!ended.empty() && ended.mapped().verb == ipc::Verb::trace_follow) worker_->trace().unfollow();
}

void Streams::serve() {
  for (auto& [client, stream] : streams_) {
    if (stream.verb == ipc::Verb::trace_follow) {
      send_trace(*client, stream);
      continue;
    }
    if (stream.verb == ipc::Verb::watch) send_status(*client, stream);
    send_events(*client, stream);
  }
}

void Streams::send_status(Connection& client, Stream& stream) {
  const Instant now = worker_->now();
  if (now < stream.next) return;
  stream.next = now + 1s / ipc::kMaxStatusesPerSecond;
  client.write(ipc::status_line(obs::to_json(worker_->snapshot())));
}

void Streams::send_events(Connection& client, Stream& stream) {
  const auto& events = worker_->events().newest();
  const std::uint64_t count = worker_->events().count();
  const std::uint64_t first = count - events.size();
  for (stream.events_sent = std::max(stream.events_sent, first); stream.events_sent < count;
       ++stream.events_sent) {
    const Event& event = events[stream.events_sent - first];
    client.write(
        ipc::event_line({.name = event.what, .at_ns = event.at_ns, .text = event.details}));
  }
}

void Streams::send_trace(Connection& client, Stream& stream) {
  if (!std::exchange(stream.names_sent, true))
    for (const std::string& name : worker_->trace().names()) client.write(ipc::trace_line(name));
  worker_->trace().since(stream.trace_sent,
                         [&](const std::string& line) { client.write(ipc::trace_line(line)); });
  stream.trace_sent = worker_->trace().so_far();
}

}  // namespace tempo::daemon
