#include "cli/common/speech.h"

#include <cstdio>

#include "base/check.h"

namespace tempo::cli {
namespace {

thread_local Hearing* hearing = nullptr;

}  // namespace

Hearing::Hearing() {
  CHECK(hearing == nullptr);
  hearing = this;
}
Hearing::~Hearing() { hearing = nullptr; }

bool overheard() { return hearing != nullptr; }

void say_text(std::string_view text) {
  if (hearing != nullptr)
    hearing->said += text;
  else
    fmt::print("{}", text);
}

void complain_text(std::string_view text) {
  if (hearing != nullptr)
    hearing->complained += text;
  else
    fmt::print(stderr, "{}", text);
}

}  // namespace tempo::cli
