#include "services/web/feed.h"

#include <utility>

namespace tempo::web {
namespace {

constexpr Nanos kSendTime = 100ms;  // longest wait to send a request
constexpr int kMaxAtOnce = 64;      // replies between two looks at the readers

ipc::Request request_of(ipc::Verb verb) { return {.verb = verb, .by_ns = {}, .to_ns = {}}; }

}  // namespace

std::vector<int> Feed::descriptors() const {
  std::vector<int> list;
  if (stream_) list.push_back(stream_->descriptor());
  if (questions_) list.push_back(questions_->descriptor());
  return list;
}

void Feed::run(Instant now) {
  if (!stream_) connect(now);
  if (stream_) read_stream(now);
  if (questions_) read_answer(now);
  if (questions_) ask(now);
}

void Feed::connect(Instant now) {
  if (tried_ != Instant{} && now - tried_ < kReconnect) return;
  tried_ = now;
  auto stream = client::Client::connect(socket_, kSendTime);
  if (!stream) return disconnect(stream.error().message, now);
  auto questions = client::Client::connect(socket_, kSendTime);
  if (!questions) return disconnect(questions.error().message, now);
  if (const auto sent = stream->send(request_of(ipc::Verb::watch)); !sent)
    return disconnect(sent.error().message, now);
  stream_.emplace(*std::move(stream));
  questions_.emplace(*std::move(questions));
  asked_.reset();
  locks_at_ = groups_at_ = findings_at_ = Instant{};
  model_->on_connection(true, "");
}

void Feed::disconnect(const std::string& why, Instant now) {
  stream_.reset();
  questions_.reset();
  tried_ = now;
  model_->on_connection(false, why);
}

void Feed::read_stream(Instant now) {
  for (int i = 0; i < kMaxAtOnce; ++i) {
    const auto reply = stream_->next(0ns);
    if (!reply) return disconnect(reply.error().message, now);
    if (!*reply) return;
    take(**reply, now);
  }
}

void Feed::take(const ipc::Reply& reply, Instant now) {
  if (const auto status = reply.body.at("status")) model_->on_status(*status, now);
  if (const auto event = ipc::event_of(reply)) model_->on_event(*event);
}

void Feed::ask(Instant now) {
  if (asked_) {
    if (now - asked_at_ > kAnswer) disconnect("tempod does not answer", now);
    return;
  }
  const auto due = [now](Instant last, Nanos interval) {
    return last == Instant{} || now - last >= interval;
  };
  ipc::Verb verb = ipc::Verb::locks;
  if (due(locks_at_, kLocks)) {
    locks_at_ = now;
  } else if (due(groups_at_, kLocks)) {
    groups_at_ = now;
    verb = ipc::Verb::groups;
  } else if (due(findings_at_, kFindings)) {
    findings_at_ = now;
    verb = ipc::Verb::doctor;
  } else {
    return;
  }
  if (const auto sent = questions_->send(request_of(verb)); !sent)
    return disconnect(sent.error().message, now);
  asked_ = verb;
  asked_at_ = now;
}

void Feed::read_answer(Instant now) {
  const auto reply = questions_->next_or_refusal(0ns);
  if (!reply) return disconnect(reply.error().message, now);
  if (!*reply || !asked_) return;
  const ipc::Verb verb = *std::exchange(asked_, std::nullopt);
  if ((*reply)->refusal) return;
  if (verb == ipc::Verb::locks) model_->on_locks(**reply, now);
  if (verb == ipc::Verb::groups) model_->on_groups(**reply);
  if (verb == ipc::Verb::doctor) model_->on_findings(**reply);
}

}  // namespace tempo::web
