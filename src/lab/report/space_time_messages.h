// The messages of a space-time diagram: one arrow per copy and one name per transmission.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lab/report/space_time_sheet.h"

namespace tempo::report {

class MessageArtist {
 public:
  explicit MessageArtist(Sheet& sheet) : sheet_(sheet) {}

  void draw_arrows();
  // Draws one name per transmission, between two lifelines and as near the sender as possible. Call
  // it last, when everything else has its place.
  void draw_names();

 private:
  struct Arrow {
    const Item* item;
    Line line;
  };

  Line arrow_line(const Item& item) const;
  Line loop_line(const Item& item) const;
  void put_arrow(const Item& item, const Line& line);
  void put_head(const Line& line, bool loop);
  std::string tooltip(const Item& item) const;
  void draw_unheard(const Item& item);

  Sheet& sheet_;
  std::map<std::int64_t, std::vector<Arrow>> arrows_of_{};  // by number of the transmission
  std::int64_t next_unnumbered_ = -1;  // next key for an arrow without a number
};

}  // namespace tempo::report
