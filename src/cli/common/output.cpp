#include "cli/common/output.h"

#include <cstdio>

#include "base/check.h"
#include "cli/common/exit_codes.h"

namespace tempo::cli {
namespace {

constexpr std::uint64_t kJsonVersion = 1;

thread_local OutputCapture* capture = nullptr;
thread_local JsonScope* scope = nullptr;

// "tempo: no such lock\n" as an error message: without the program's name and the newline.
std::string_view bare_message(std::string_view text) {
  using namespace std::string_view_literals;
  for (const std::string_view prefix : {"tempo: "sv, "tempo-lab: "sv})
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

void print_to_stderr(std::string_view text) {
  if (capture != nullptr)
    capture->err += text;
  else
    fmt::print(stderr, "{}", text);
}

}  // namespace

OutputCapture::OutputCapture() {
  CHECK(capture == nullptr);
  capture = this;
}
OutputCapture::~OutputCapture() { capture = nullptr; }

bool is_captured() { return capture != nullptr; }

void print_text(std::string_view text) {
  if (capture != nullptr)
    capture->out += text;
  else
    fmt::print("{}", text);
}

void print_error_text(std::string_view text) {
  if (scope != nullptr && scope->json_)
    scope->error_ += text;
  else
    print_to_stderr(text);
}

void print_json(const Json& data) {
  CHECK(scope != nullptr);
  scope->data_ = data;
}

void print_json_line(const Json& data) {
  CHECK(scope != nullptr);
  scope->streamed_ = true;
  print("{}\n", Json::object().add("version", kJsonVersion).add("data", data).line());
  std::fflush(stdout);
}

void print_json_error_line(const Json& data) {
  print_to_stderr(Json::object().add("version", kJsonVersion).add("data", data).line() + '\n');
}

JsonScope::JsonScope(bool json, JsonStream stream) : json_(json), stream_(stream) {
  CHECK(scope == nullptr);
  scope = this;
}
JsonScope::~JsonScope() { scope = nullptr; }

int JsonScope::finish(int status) {
  if (!json_ && !data_) return status;
  Json object = Json::object().add("version", kJsonVersion);
  if (data_) object.add("data", *data_);
  if (!error_.empty())
    object.add("error", Json::object()
                            .add("status", static_cast<std::int64_t>(status))
                            .add("code", status_name(status))
                            .add("message", bare_message(error_)));
  if (!data_ && error_.empty()) return status;
  if (stream_ == JsonStream::standard_error) {
    print_to_stderr(object.line() + '\n');
  } else if (streamed_) {
    if (!error_.empty()) print("{}\n", object.line());
  } else {
    print_text(object.text());
  }
  return status;
}

}  // namespace tempo::cli
