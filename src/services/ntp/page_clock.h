// Network time for an NTP server, from the time page of tempod.
//
// Without a page, or beyond the limit of its claims, the time is unsynchronized and that of the
// kernel.
#pragma once

#include <optional>
#include <string>

#include "api/page_file.h"
#include "base/units.h"
#include "services/ntp/server.h"

namespace tempo::ntp {

class PageClock {
 public:
  static constexpr Nanos kRetry = 1s;  // interval at which a missing page is looked for

  PageClock(std::string path, Nanos limit) : path_(std::move(path)), limit_(limit) {}

  ServedTime now();
  page::Status status() const { return status_; }      // of the last reading
  const std::string& error() const { return error_; }  // why there is no page; empty: there is one

 private:
  void look(Instant now);

  std::string path_;
  Nanos limit_;
  std::optional<page::Reader> reader_;
  page::Status status_ = page::Status::unsynchronized;
  std::string error_;
  Instant looked_{};    // last look for a page
  WallTime updated_{};  // last time that a master was known
};

}  // namespace tempo::ntp
