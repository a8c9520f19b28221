// The answers of a worker in classic mode to local clients: its status, and a refusal of everything
// that TSP does not have.
#pragma once

#include <string>

#include "daemon/control/control_server.h"

namespace tempo::daemon {

class ClassicWorker;

class ClassicRequests : public Answers {
 public:
  explicit ClassicRequests(ClassicWorker& worker) : worker_(&worker) {}

  std::string answer(Connection& client, const std::string& line) override;
  void disconnect(Connection& client) override;

 private:
  ClassicWorker* worker_;
};

}  // namespace tempo::daemon
