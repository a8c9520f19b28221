// The time page as a file that the daemon and its readers map.
//
// A new incarnation of the daemon continues the page of the previous one, so that readers with a
// mapping see the new one too; a page of another version or boot is replaced by a new file. A
// reader whose page is no longer renewed checks, at most once a second, whether a new file has
// replaced it. Readers trust every process that can write the directory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <sys/types.h>

#include "api/page.h"
#include "base/result.h"

namespace tempo::page {

// Path of the page of the daemon with this socket; empty for an abstract socket, "@name".
std::string path_for(const std::string& socket);

// A mapped page.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int descriptor, bool writable);  // empty if the kernel refuses
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  Page* page() const { return static_cast<Page*>(memory_); }
  bool empty() const { return memory_ == nullptr; }
  bool replace(int descriptor) const;  // maps another file at the same address, read only

 private:
  void* memory_ = nullptr;
};

class Writer {
 public:
  static Result<Writer> open(const std::string& path);
  void write(const Content& content) { page::write(*mapping_.page(), content); }
  // Marks the page as no longer renewed.
  void orphan();

 private:
  explicit Writer(Mapping mapping) : mapping_(std::move(mapping)) {}
  Mapping mapping_;
};

// Several threads may use it at once.
class Reader {
 public:
  static Result<Reader> open(const std::string& path);
  Reading now() const;

  ~Reader() = default;
  Reader(Reader&& other) noexcept;  // not while another thread reads
  Reader& operator=(Reader&&) = delete;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

 private:
  struct Identity {
    dev_t device = 0;
    ino_t number = 0;
    bool operator==(const Identity&) const = default;
  };
  static Identity identity_of(int file);
  Reader(std::string path, Mapping mapping, Identity file);
  bool is_sane(const Loaded& loaded) const;
  Reading read_carefully() const;
  bool reopen(Instant now) const;

  std::string path_;
  Mapping mapping_;
  mutable Identity file_;                            // changed by the thread that set `checked_at_`
  mutable std::atomic<std::int64_t> checked_at_{0};  // last check for a new file, raw time
  mutable std::atomic<std::uint64_t> sane_sequence_{1};  // last sequence number with sane content
};

Moment read_moment_closely();  // repeats if the process was interrupted between the clocks

}  // namespace tempo::page
