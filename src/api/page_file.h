// The page as a file that daemon and readers map.
//
// The daemon goes on with the page that an earlier life left, so that readers that have it mapped
// see the new life too; a page of another version or boot is replaced by a new file. A reader that
// finds its page no longer renewed looks, at most once a second, whether there is a new file in its
// place. Whoever may write the directory is believed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <sys/types.h>

#include "api/page.h"
#include "base/result.h"

namespace tempo::page {

// Where the page of the daemon with this socket is; empty for an abstract socket, "@name".
std::string path_for(const std::string& socket);

// A piece of a file in memory.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int descriptor, bool writable);  // `Page` of it; none if the kernel refuses
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  Page* page() const { return static_cast<Page*>(memory_); }
  bool none() const { return memory_ == nullptr; }
  bool replace(int descriptor) const;  // what is behind the same addresses; read only

 private:
  void* memory_ = nullptr;
};

class Writer {
 public:
  static Result<Writer> open(const std::string& path);
  void write(const Content& content) { page::write(*mapping_.page(), content); }
  // Says to readers that nobody renews the page any more.
  void orphan();

 private:
  explicit Writer(Mapping mapping) : mapping_(std::move(mapping)) {}
  Mapping mapping_;
};

// May be used by several threads at once.
class Reader {
 public:
  static Result<Reader> open(const std::string& path);
  Reading now() const;

  ~Reader() = default;
  Reader(Reader&& other) noexcept;  // while nobody reads
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
  bool believable(const Loaded& loaded) const;
  Reading look_closely() const;
  bool look_again(Instant now) const;

  std::string path_;
  Mapping mapping_;
  mutable Identity file_;                           // by whoever has moved `looked_`
  mutable std::atomic<std::int64_t> looked_{0};     // raw, for a new file
  mutable std::atomic<std::uint64_t> believed_{1};  // the last sequence number with sane content
};

Moment read_moment_closely();  // no pause between the clocks

}  // namespace tempo::page
