// Fuzzes the files of a record: any contents of its three files are good, absent or lost, and no
// bytes but those that were written are good. A good record, written again, reads as the same.
//
// The input is the three files, separated by zero bytes; an empty one is absent.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "platform/whole_file.h"

namespace tempo::sys {
namespace {

FileText next_file(std::string_view& input) {
  const std::size_t end = input.find('\0');
  FileText file{.text = std::string(input.substr(0, end))};
  input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  if (!file.text.empty()) file.state = FileState::good;
  return file;
}

void check_round_trip(const std::string& text) {
  for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{7}, ~std::uint64_t{0}}) {
    RecordFiles files;
    files.current = {.state = FileState::good, .text = generation_text(text, number)};
    const Record record = record_in(files, "record");
    CHECK(record.state == FileState::good && record.text == text);
    files.current.text[text.size() / 2] ^= 1;
    CHECK(record_in(files, "record").state == FileState::lost);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  check_round_trip(std::string(input));
  RecordFiles files;
  files.current = next_file(input);
  files.previous = next_file(input);
  files.fresh = next_file(input);
  const Record record = record_in(files, "record");
  CHECK((record.state == FileState::lost) == !record.error.empty());
  if (record.state == FileState::good) check_round_trip(record.text);
  return 0;
}

}  // namespace tempo::sys
