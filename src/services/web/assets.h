// The files of the page, embedded in the program. `make web` builds app.js and app.css.
#pragma once

#include <span>
#include <string_view>

#include "services/web/messages.h"

namespace tempo::web {

struct Asset {
  std::string_view path;
  std::string_view type;
  Text body;
};
std::span<const Asset> assets();

}  // namespace tempo::web
