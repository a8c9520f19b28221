#include "live/client/election_c.h"

#include <chrono>
#include <string>
#include <utility>

#include "live/client/election.h"
#include "live/client/sentence_c.h"

struct tempo_election {
  tempo::Election election;
};

extern "C" {

tempo_election* tempo_election_stand(const char* group, std::int64_t capacity,
                                     const char* criterion, std::int64_t min_stay_ns,
                                     const char* socket, char* trouble, unsigned size) {
  tempo::CandidateOptions options{.capacity = capacity,
                                  .min_stay = std::chrono::nanoseconds{min_stay_ns}};
  if (criterion != nullptr) options.criterion = criterion;
  auto election = socket == nullptr ? tempo::Election::stand(group, options)
                                    : tempo::Election::stand(group, options, socket);
  if (!election) {
    tempo::copy_sentence(election.error().sentence, trouble, size);
    return nullptr;
  }
  election->stops_later();
  return new tempo_election{*std::move(election)};
}

void tempo_election_close(tempo_election* election) { delete election; }

int tempo_election_descriptor(const tempo_election* election) {
  return election->election.descriptor();
}

int tempo_election_dispatch(tempo_election* election, std::int64_t wait_ns) {
  return election->election.dispatch(std::chrono::nanoseconds{wait_ns}) ? 0 : -1;
}

std::uint64_t tempo_election_term(const tempo_election* election) {
  return election->election.term();
}

void tempo_election_stopped(tempo_election* election) { election->election.stopped(); }

std::int64_t tempo_election_remaining_ns(const tempo_election* election) {
  return election->election.remaining().count();
}

void tempo_election_offer(tempo_election* election, std::int64_t capacity) {
  election->election.offer(capacity);
}

}  // extern "C"
