// Feeds the model from tempod's control socket, with read-only requests: a stream of the status and
// events on one connection, and locks, groups and findings in turn on another. It reconnects when
// tempod restarts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/client.h"
#include "services/web/model.h"

namespace tempo::web {

class Feed {
 public:
  static constexpr Nanos kReconnect = 500ms;
  static constexpr Nanos kLocks = 500ms;  // interval between questions about locks and groups
  static constexpr Nanos kFindings = 10s;
  static constexpr Nanos kAnswer = 5s;  // longest wait for an answer

  // `model` must outlive this object.
  Feed(Model& model, std::string socket) : model_(&model), socket_(std::move(socket)) {}

  std::vector<int> descriptors() const;  // to poll for POLLIN
  // Call it when a descriptor is ready, and at least four times a second.
  void run(Instant now);

 private:
  void connect(Instant now);
  void disconnect(const std::string& why, Instant now);
  void read_stream(Instant now);
  void take(const ipc::Reply& reply, Instant now);
  void ask(Instant now);
  void read_answer(Instant now);

  Model* model_;
  std::string socket_;
  std::optional<client::Client> stream_;
  std::optional<client::Client> questions_;
  Instant tried_{};
  std::optional<ipc::Verb> asked_;  // not answered yet
  Instant asked_at_{};
  Instant locks_at_{};
  Instant groups_at_{};
  Instant findings_at_{};
};

}  // namespace tempo::web
