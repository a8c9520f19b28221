#include "daemon/control/reelection.h"

#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "base/span_text.h"

namespace tempo::daemon {

using wire::DiagnosticBody;

std::uint32_t ReelectRequest::ask(Instant now, const Master& master) {
  if (!in_progress_) begin(now, master);
  ++clients_;
  return number_;
}

void ReelectRequest::begin(Instant now, const Master& master) {
  if (++number_ == 0) ++number_;
  in_progress_ = true;
  clients_ = 0;
  master_ = master;
  sends_ = 0;
  next_ = now;
}

void ReelectRequest::withdraw(std::uint32_t number) {
  if (!in_progress_ || number != number_ || --clients_ > 0) return;
  end({.what = Outcome::What::no_answer, .master = master_});
}

std::optional<DiagnosticBody> ReelectRequest::take_due(Instant now) {
  if (!in_progress_ || now < next_) return std::nullopt;
  if (sends_ == kMaxSends) {
    end({.what = Outcome::What::no_answer, .master = master_});
    return std::nullopt;
  }
  ++sends_;
  next_ = now + kSendInterval;
  return DiagnosticBody{.kind = DiagnosticBody::Kind::reelect,
                        .question = number_,
                        .target = master_.host,
                        .round = master_.round};
}

void ReelectRequest::receive(NodeId from, const DiagnosticBody& body) {
  if (body.kind != DiagnosticBody::Kind::reelect_answer || !in_progress_ || from != master_.node ||
      body.question != number_)
    return;
  if (body.level == DiagnosticBody::kHonoured)
    end({.what = Outcome::What::honoured, .master = master_});
  else
    end({.what = Outcome::What::refused,
         .master = master_,
         .reason = std::string(body.text.text())});
}

std::optional<ReelectRequest::Outcome> ReelectRequest::outcome(std::uint32_t number) const {
  return number == ended_ ? std::optional(outcome_) : std::nullopt;
}

void ReelectRequest::end(Outcome outcome) {
  in_progress_ = false;
  ended_ = number_;
  outcome_ = std::move(outcome);
}

ReelectLimiter::Verdict ReelectLimiter::judge(Instant now, const Asker& asker, bool leads) {
  Verdict verdict;
  verdict.answer.kind = DiagnosticBody::Kind::reelect_answer;
  verdict.answer.question = asker.question;
  // The answer was lost, or this is a copy of the request that came late.
  if (last_ == asker) return verdict;
  const Nanos since = now - honoured_at_;
  const bool too_soon = last_ && since < kMinInterval;
  if (leads && !too_soon) {
    last_ = asker;
    honoured_at_ = now;
    ++honoured_;
    verdict.resign = true;
    return verdict;
  }
  ++refused_;
  verdict.answer.level = DiagnosticBody::kRefused;
  verdict.answer.text = wire::Text<DiagnosticBody::kMaxText>(
      leads ? fmt::format("it resigned {} ago at the request of another machine; try again in {}",
                          span_text(std::chrono::floor<std::chrono::seconds>(since)),
                          span_text(std::chrono::ceil<std::chrono::seconds>(kMinInterval - since)))
            : "its mastership has ended; try again");
  return verdict;
}

}  // namespace tempo::daemon
