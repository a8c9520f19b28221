// Small files that are read and written as a whole, and records, whose loss is noticed.
//
// Everything that is read has one of three answers: absent (there is no such file), good, or lost
// (it exists, or existed, and cannot be used). A caller must not treat lost as absent: that would
// take a file that cannot be read for one that was never written.
//
// A file is replaced atomically: after a crash the old or the new contents are there. A record also
// has a checksum over its whole text, and two generations: PATH and, as PATH.old, its predecessor.
// Generations are numbered: an old copy in the place of a record is not newer than its predecessor,
// and counts as lost. Only if both generations are old copies nothing here notices it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/result.h"

namespace tempo::sys {

enum class FileState : std::uint8_t { absent, good, lost };

struct FileText {
  FileState state = FileState::absent;
  std::string text{};   // good: the contents
  std::string error{};  // lost: file, reason and cure, for users
};

// Reads a regular file. Lost: it cannot be read, or has more than `most` bytes.
FileText read_file(const std::string& path, std::size_t most);

// The same for a secret. Lost also: its owner is neither root nor one of `owners`, or its mode
// gives any right to group or others.
FileText read_secret(const std::string& path, std::size_t most, std::span<const uid_t> owners);

// Replaces a file, with mode 0644. The contents and the name are on disk when this returns.
Result<void> replace_file(const std::string& path, std::string_view text);

enum class WriteMode : std::uint8_t {
  create,  // an existing file is an error and stays as it is
  replace
};
// The same for a secret, with mode 0600.
Result<void> write_secret(const std::string& path, std::string_view text, WriteMode mode);
// Removes a file. Its name is gone from the disk when this returns.
Result<void> remove_file(const std::string& path);

// Why no file can be written on the file system of this directory: it is full or read-only. Empty:
// files can be written, or the directory cannot be examined.
std::string space_error(const std::string& directory);

struct Record {
  FileState state = FileState::absent;  // absent: both generations are
  std::string text{};                   // good: the text of the last `write_record`
  // Lost: an intact predecessor of the last text. The lost text was written after it, so a reader
  // that has made promises in its records can take it as a lower bound only. Unset: lost too.
  std::optional<std::string> previous{};
  std::string error{};  // lost: file, reason and cure, for users
};

// `most` is the longest text, in bytes.
Record read_record(const std::string& path, std::size_t most);

// The three files of a record, as they are read: PATH, PATH.old, and PATH.new, which takes the name
// PATH at last. For drivers without a real disk.
struct RecordFiles {
  FileText current{};
  FileText previous{};
  FileText fresh{};
};
Record record_in(const RecordFiles& files, const std::string& path);

// The contents of a file that has `text` as its n-th generation.
std::string generation_text(std::string_view text, std::uint64_t number);

// The record is on disk when this returns. A damaged generation never replaces an intact one.
Result<void> write_record(const std::string& path, std::string_view text);

}  // namespace tempo::sys
