#include "services/web/assets.h"

#include <array>
#include <memory>
#include <string>

// The paths come from the build. The assembler reads the files: no tool has to write them as C++.
#define TEMPO_EMBED(name, path)                                                \
  asm(".section .rodata\n.balign 16\n" #name ":\n.incbin \"" path "\"\n" #name \
      "_end:\n.byte 0\n.previous\n");                                          \
  extern "C" const char name[];                                                \
  extern "C" const char name##_end[]

TEMPO_EMBED(tempo_web_index, TEMPO_WEB_INDEX);
TEMPO_EMBED(tempo_web_script, TEMPO_WEB_SCRIPT);
TEMPO_EMBED(tempo_web_style, TEMPO_WEB_STYLE);
TEMPO_EMBED(tempo_web_troubleshooting, TEMPO_WEB_TROUBLESHOOTING);

namespace tempo::web {
namespace {

Text embedded(const char* begin, const char* end) {
  return std::make_shared<const std::string>(begin, end);
}

}  // namespace

std::span<const Asset> assets() {
  static const std::array kAssets{
      Asset{"/", "text/html; charset=utf-8", embedded(tempo_web_index, tempo_web_index_end)},
      Asset{"/app.js", "text/javascript; charset=utf-8",
            embedded(tempo_web_script, tempo_web_script_end)},
      Asset{"/app.css", "text/css; charset=utf-8", embedded(tempo_web_style, tempo_web_style_end)},
      Asset{"/troubleshooting.md", "text/plain; charset=utf-8",
            embedded(tempo_web_troubleshooting, tempo_web_troubleshooting_end)},
  };
  return kAssets;
}

}  // namespace tempo::web
