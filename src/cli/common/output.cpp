#include "cli/common/output.h"

#include <cstdio>

#include "base/check.h"

namespace tempo::cli {
namespace {

thread_local OutputCapture* hearing = nullptr;

}  // namespace

OutputCapture::OutputCapture() {
  CHECK(hearing == nullptr);
  hearing = this;
}
OutputCapture::~OutputCapture() { hearing = nullptr; }

bool is_captured() { return hearing != nullptr; }

void print_text(std::string_view text) {
  if (hearing != nullptr)
    hearing->out += text;
  else
    fmt::print("{}", text);
}

void print_error_text(std::string_view text) {
  if (hearing != nullptr)
    hearing->err += text;
  else
    fmt::print(stderr, "{}", text);
}

}  // namespace tempo::cli
