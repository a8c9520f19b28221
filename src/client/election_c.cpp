#include "tempo/election_c.h"

#include <chrono>
#include <utility>

#include "client/c_error.h"
#include "tempo/election.h"

struct tempo_election {
  tempo::Election election;
};

namespace {

tempo::CandidateOptions options_of(const tempo_candidate_options& given) {
  tempo::CandidateOptions options;
  options.capacity = given.capacity;
  if (given.criterion != nullptr) options.criterion = given.criterion;
  if (given.algorithm != nullptr) options.algorithm = given.algorithm;
  options.min_stay = std::chrono::nanoseconds{given.min_stay_ns};
  options.once = given.once != 0;
  options.cancel = given.cancel;
  return options;
}

}  // namespace

extern "C" {

tempo_candidate_options tempo_candidate_default_options(void) {
  return {.capacity = 0,
          .criterion = "weight",
          .algorithm = "b1",
          .min_stay_ns = 30'000'000'000,
          .once = 0,
          .cancel = -1};
}

tempo_election* tempo_election_stand(const char* group, const tempo_candidate_options* options,
                                     const char* socket, tempo_error* error, char* message,
                                     unsigned size) {
  auto election = tempo::Election::stand(
      group, options_of(options == nullptr ? tempo_candidate_default_options() : *options),
      socket == nullptr ? tempo::kDefaultControlSocket : socket);
  if (!election) {
    tempo::copy_error(election.error(), error, message, size);
    return nullptr;
  }
  election->require_stop_confirmation();
  return new tempo_election{*std::move(election)};
}

void tempo_election_close(tempo_election* election) { delete election; }

int tempo_election_descriptor(const tempo_election* election) {
  return election->election.descriptor();
}

int tempo_election_dispatch(tempo_election* election, std::int64_t wait_ns, int cancel) {
  const auto handled = election->election.dispatch(std::chrono::nanoseconds{wait_ns}, cancel);
  return handled || handled.error().code == tempo::ErrorCode::cancelled ? 0 : -1;
}

std::uint64_t tempo_election_term(const tempo_election* election) {
  return election->election.term();
}

void tempo_election_confirm_stopped(tempo_election* election) {
  election->election.confirm_stopped();
}

std::int64_t tempo_election_remaining_ns(const tempo_election* election) {
  return election->election.remaining().count();
}

int tempo_election_is_candidate(const tempo_election* election) {
  return election->election.is_candidate() ? 1 : 0;
}

void tempo_election_set_capacity(tempo_election* election, std::int64_t capacity) {
  election->election.set_capacity(capacity);
}

void tempo_election_withdraw(tempo_election* election, int job_done) {
  election->election.withdraw(job_done != 0);
}

}  // extern "C"
