// Every mutation of the codec and of liveness: each lets an attacker without the key have an
// effect, and the check that must fail because of it.
#include "protocol/wire/wire_mutation.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "lab/studies/daemon/daemon_world.h"
#include "mutation_suite.h"
#include "protocol/wire/codec.h"
#include "protocol/wire/codec_test_hosts.h"

namespace tempo::wire {
namespace {

// --- simulation ---

// The first property that a recording attack on whole daemons violates.
std::string recording_attack() {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto outcome =
        sim::daemon::run({.scenario = sim::daemon::Scenario::replay, .seed = seed, .until = 30s});
    if (!outcome.kept()) return outcome.violations.front().property;
  }
  return "nothing";
}

// --- single situations: true if the attacker has no effect ---

node::Node::Message echo() {
  node::Node::Message message;
  message.body = node::Echo{.exchange = 1, .offset = 57s};
  return message;
}
void meet(Codec& one, Codec& other, Instant now = kNow) {
  (void)heard(one, other, encoded(other, loop_of(other)), now);
  (void)heard(other, one, encoded(one, loop_of(one)), now);
}
bool dropped(Codec& receiver, const Bytes& bytes, Instant now = kNow, std::uint8_t network = 0) {
  const auto received = receiver.decode(now, network, now, bytes);
  return !received && !receiver.take_released();
}

// A sender that is dead, whose last datagrams were kept back.
bool dead_sender() {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  meet(receiver, sender);
  const Bytes loop = encoded(sender, loop_of(sender));
  const Bytes to_it = encoded_to(receiver, sender, echo());
  return dropped(receiver, loop, kNow + 61s) && dropped(receiver, to_it, kNow + 121s);
}
bool other_network() {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  meet(receiver, sender);
  return dropped(receiver, encoded(sender, loop_of(sender)), kNow, 1);
}
// The process before it has answered on network 1, the present one on network 0.
bool other_network_of_the_process_before() {
  Codec before = codec_of({.id = 2, .nonce = 1});
  Codec after = codec_of({.id = 2, .nonce = 2});
  Codec receiver = codec_of({.id = 1});
  (void)heard(receiver, before, encoded(before, loop_of(before)), kNow, 1);
  (void)heard(receiver, after, encoded(after, loop_of(after)), kNow, 0);
  return dropped(receiver, encoded(after, loop_of(after)), kNow, 1);
}
// To another receiver, and to an earlier process of this one, while the sender is live.
bool redirected() {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  Codec third = codec_of({.id = 3});
  meet(sender, receiver);
  meet(sender, third);
  meet(receiver, third);
  return dropped(third, encoded_to(receiver, sender, echo()));
}
// Datagrams to another process take no place of those that are held.
bool full_of_redirected() {
  Codec sender = codec_of({.id = 2});
  Codec before = codec_of({.id = 1, .nonce = 1});
  Codec after = codec_of({.id = 1, .nonce = 2});
  meet(sender, before);
  Bytes question;
  for (std::size_t i = 0; i < Liveness::kMaxHeldOfOne; ++i) {
    if (!dropped(after, encoded_to(before, sender, echo()))) return false;
    if (question.empty()) question = reply_of(after);
  }
  if (!dropped(after, encoded(sender, loop_of(sender)))) return false;
  if (!sender.decode(kNow, 0, kNow, question)) return false;
  (void)after.decode(kNow, 0, kNow, reply_of(sender));
  return after.take_released().has_value();
}
bool repeated() {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  meet(receiver, sender);
  const Bytes loop = encoded(sender, loop_of(sender));
  return !dropped(receiver, loop) && dropped(receiver, loop);
}
bool broadcasts_before_the_first_contact() {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  const Bytes early = encoded(sender, loop_of(sender));
  for (std::uint64_t i = 0; i < auth::ReplayWindow::kWidth; ++i) encoded(sender, loop_of(sender));
  const bool held = dropped(receiver, early);
  if (!sender.decode(kNow, 0, kNow, reply_of(receiver))) return false;
  (void)receiver.decode(kNow, 0, kNow, reply_of(sender));
  return held && !receiver.take_released() && dropped(receiver, early);
}
// A machine that lost its state returns with the incarnation that it had.
bool equal_incarnations() {
  Codec before = codec_of({.id = 2, .nonce = 1});
  Codec after = codec_of({.id = 2, .nonce = 2});
  Codec receiver = codec_of({.id = 1});
  meet(receiver, before);
  const Bytes recorded = encoded(before, loop_of(before));
  (void)heard(receiver, after, encoded(after, loop_of(after)));
  return dropped(receiver, recorded);
}
// The process before this one was live, and its last datagram was kept back.
bool process_before() {
  Codec before = codec_of({.id = 2, .nonce = 1});
  Codec after = codec_of({.id = 2, .nonce = 2});
  Codec receiver = codec_of({.id = 1});
  meet(receiver, before);
  const Bytes kept_back = encoded_to(receiver, before, echo());
  (void)heard(receiver, after, encoded(after, loop_of(after)));
  return dropped(receiver, kept_back);
}
// Datagrams of the present process arrive at the receiver, although an earlier one was asked.
bool question_to_the_process_before() {
  Codec before = codec_of({.id = 2, .nonce = 1});
  Codec after = codec_of({.id = 2, .nonce = 2});
  Codec receiver = codec_of({.id = 1});
  const Bytes recorded = encoded(before, loop_of(before));
  meet(receiver, after);
  (void)receiver.decode(kNow, 0, kNow, recorded);
  (void)after.decode(kNow, 0, kNow, reply_of(receiver));
  return !dropped(receiver, encoded_to(receiver, after, echo()));
}
// An old question, or an old datagram, must not replace the newest challenge: the responses to it
// are too old to prove anything after a period.
bool old_challenge(bool question) {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  (void)sender.decode(kNow, 0, kNow, encoded(receiver, loop_of(receiver)));
  const Bytes asked = reply_of(sender);
  (void)receiver.decode(kNow, 0, kNow, asked);
  (void)sender.decode(kNow, 0, kNow, reply_of(receiver));
  (void)heard(receiver, sender, encoded(sender, loop_of(sender)));
  const Bytes kept_back = encoded_to(receiver, sender, echo());
  const Instant later = kNow + 65s;
  (void)heard(receiver, sender, encoded(sender, loop_of(sender)), later);
  (void)receiver.decode(later, 0, later, question ? asked : kept_back);
  const auto received = sender.decode(later, 0, later, encoded_to(sender, receiver, echo(), later));
  return received && received->proved;
}
bool old_question() { return old_challenge(true); }
bool overtaken() { return old_challenge(false); }

// An answer that the receiver did not ask for, from an address of the attacker's choice.
Bytes answer_of(Codec& sender, Codec& receiver) {
  (void)receiver.decode(kNow, 0, kNow, encoded(sender, loop_of(sender)));
  (void)sender.decode(kNow, 0, kNow, reply_of(receiver));
  return reply_of(sender);
}
// A copy of the answer with which another machine has proved that it has our id.
bool second_answer() {
  Codec one = codec_of({.id = 1, .nonce = 1});
  Codec twin = codec_of({.id = 1, .nonce = 2});
  const Bytes answer = answer_of(twin, one);
  return drop_reason(one.decode(kNow, 0, kNow, answer)) == DropReason::duplicate_host_id &&
         drop_reason(one.decode(kNow, 0, kNow, answer)) == DropReason::not_live;
}
// The question was asked on network 0.
bool answer_on_another_network() {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  return dropped(receiver, answer_of(sender, receiver), kNow, 1);
}
bool answer_after_its_time() {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  return dropped(receiver, answer_of(sender, receiver), kNow + 2s);
}
bool old_held_datagram() {
  Codec sender = codec_of({.id = 2});
  Codec receiver = codec_of({.id = 1});
  (void)receiver.decode(kNow, 0, kNow, encoded(sender, loop_of(sender)));
  const Instant later = kNow + 1900ms;
  (void)receiver.decode(later, 0, later, encoded(sender, loop_of(sender, 4)));
  (void)sender.decode(later, 0, later, reply_of(receiver, later));
  (void)receiver.decode(later + 200ms, 0, later, reply_of(sender, later));
  return receiver.take_released() && !receiver.take_released();
}

// Two machines answer in turn for one host. A process that has ended never answers again.
bool clone_of_a_host() {
  Codec one = codec_of({.id = 2, .nonce = 1});
  Codec clone = codec_of({.id = 2, .nonce = 2});
  Codec receiver = codec_of({.id = 1});
  const auto returns = [&] {
    return receiver.directory().find(HostId{std::uint64_t{2} << 50})->returns;
  };
  (void)heard(receiver, one, encoded(one, loop_of(one)));
  (void)heard(receiver, clone, encoded(clone, loop_of(clone)));
  if (returns() != 0) return false;
  (void)heard(receiver, one, encoded(one, loop_of(one)));
  return returns() == 1;
}

constexpr MutationRow<Mutation> kRows[] = {
    {Mutation::any_process_is_live, "any_process_is_live", recording_attack},
    {Mutation::any_response, "any_response", recording_attack},
    {Mutation::old_response, "old_response", dead_sender},
    {Mutation::one_challenge_for_all, "one_challenge_for_all", recording_attack},
    {Mutation::live_without_end, "live_without_end", dead_sender},
    {Mutation::live_on_every_network, "live_on_every_network", other_network},
    {Mutation::networks_stay, "networks_stay", other_network_of_the_process_before},
    {Mutation::foreign_datagram, "foreign_datagram", redirected},
    {Mutation::holds_foreign, "holds_foreign", full_of_redirected},
    {Mutation::no_window, "no_window", repeated},
    {Mutation::no_floor, "no_floor", broadcasts_before_the_first_contact},
    {Mutation::no_nonce, "no_nonce", equal_incarnations},
    {Mutation::earlier_process_returns, "earlier_process_returns", process_before},
    {Mutation::question_to_other, "question_to_other", question_to_the_process_before},
    {Mutation::recorded_question, "recorded_question", old_question},
    {Mutation::overtaken_challenge, "overtaken_challenge", overtaken},
    {Mutation::unasked_answer, "unasked_answer", answer_on_another_network},
    {Mutation::answer_again, "answer_again", second_answer},
    {Mutation::late_answer, "late_answer", answer_after_its_time},
    {Mutation::held_too_long, "held_too_long", old_held_datagram},
    {Mutation::returns_unnoticed, "returns_unnoticed", clone_of_a_host},
    // Again, by attacks on whole daemons.
    {Mutation::no_window, "no_window_simulated", recording_attack},
    {Mutation::question_to_other, "question_to_other_simulated", recording_attack},
};

const MutationSuite<Mutation> kSuite{"Wire", kRows};

}  // namespace
}  // namespace tempo::wire
