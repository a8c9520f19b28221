#include "lab/report/space_time_page.h"

#include <string_view>

#include <fmt/core.h>

namespace tempo::report {
namespace {

constexpr std::string_view kLight = R"(
  color-scheme: light;
  --page: #ffffff; --panel: #f5f7f9; --ink: #1d2733; --muted: #66727f; --faint: #dfe4ea; --gone: #aab4bf;
  --arrow: #4a5663; --bad: #c62828; --net: #b26a00; --lit: #0b62d6; --on-state: #ffffff;
  --s0: #66768a; --s1: #b76e00; --s2: #2f6fd0; --s3: #8148b8; --s4: #12806f; --s5: #c2386b;
  --s6: #4a8a1d; --s7: #0f7fa3; --s8: #c4501b; --s9: #4b55c8; --s10: #83761a; --s11: #a83a9c;
)";
constexpr std::string_view kDark = R"(
  color-scheme: dark;
  --page: #12161b; --panel: #1b2128; --ink: #e6ebf0; --muted: #94a1ae; --faint: #2a323b; --gone: #53606d;
  --arrow: #b4bfca; --bad: #ff7b72; --net: #f0b45b; --lit: #79b8ff; --on-state: #12161b;
  --s0: #a3b3c5; --s1: #f0b45b; --s2: #7aa9f7; --s3: #c39bf0; --s4: #4fc9b0; --s5: #f287ad;
  --s6: #9ccc65; --s7: #5cc4e6; --s8: #ff9a6b; --s9: #9ca3ff; --s10: #d5c55c; --s11: #e58bdc;
)";

constexpr std::string_view kRules = R"(
body { margin: 0; background: var(--page); color: var(--ink);
  font: 14px/1.45 system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; }
header { position: sticky; left: 0; max-width: 72rem; padding: 22px 28px 6px; box-sizing: border-box; }
h1 { font-size: 21px; font-weight: 650; margin: 0; letter-spacing: -0.01em; }
header p { margin: 3px 0 0; color: var(--muted); }
.note { margin: 10px 0 0; padding: 7px 12px; border-left: 3px solid var(--net); background: var(--panel);
  color: var(--ink); }
.legend { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; margin: 12px 0 0;
  font-size: 12.5px; color: var(--muted); }
.legend b { font-weight: 600; color: var(--ink); }
.swatch { display: inline-flex; align-items: center; gap: 5px; white-space: nowrap; }
.swatch i { width: 6px; height: 15px; border-radius: 3px; display: inline-block; }
.legend button { font: inherit; color: var(--ink); background: var(--panel); border: 1px solid var(--faint);
  border-radius: 11px; padding: 1px 10px; cursor: pointer; }
.legend button small { color: var(--muted); font-size: 11px; }
.legend button[aria-pressed=true] { border-color: var(--lit); color: var(--lit); }
svg { display: block; font: 11px system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; }
.names { position: sticky; top: 0; z-index: 1; background: var(--page); border-bottom: 1px solid var(--faint);
  width: max-content; min-width: 100%; }
.names text { font-size: 13px; font-weight: 650; text-anchor: middle; fill: var(--ink); }
.names .unit { font-size: 11px; font-weight: 400; text-anchor: end; fill: var(--muted); }
.grid { stroke: var(--faint); stroke-width: 1; }
.burst, .tick { text-anchor: end; fill: var(--muted); font-variant-numeric: tabular-nums; }
.burst { font-weight: 650; fill: var(--ink); }
.tick { font-size: 10px; }
.gap { fill: var(--panel); }
.skipped { text-anchor: end; fill: var(--muted); font-style: italic; }
.life { stroke-width: 6; stroke-linecap: butt; fill: none; }
.life.down { stroke: var(--gone); stroke-width: 1.5; stroke-dasharray: 1.5 5; stroke-linecap: round; }
.life.up.bare { stroke: var(--gone); stroke-width: 3; }
.life.paused { stroke-dasharray: 4 4; opacity: 0.75; }
.arrow path, .lost path, .pending path { stroke: var(--arrow); stroke-width: 1.25; fill: none; }
.arrow .head { fill: var(--arrow); stroke: none; }
.lost path { stroke: var(--bad); stroke-dasharray: 5 3; }
.lost .cross { stroke-width: 2.2; stroke-dasharray: none; stroke-linecap: round; }
.pending path { stroke-dasharray: 2 3; }
.arrow .hit, .lost .hit, .pending .hit { stroke: transparent; stroke-width: 9; stroke-dasharray: none; }
.origin { fill: var(--arrow); }
.message, .fault text, .held text, .unheard { paint-order: stroke; stroke: var(--page); stroke-width: 3.5px;
  stroke-linejoin: round; fill: var(--ink); }
.message { text-anchor: middle; pointer-events: none; }
.message.bad { fill: var(--bad); }
.unheard { font-style: italic; fill: var(--muted); }
.state text, .held text { font-weight: 600; font-size: 10.5px; text-anchor: middle; }
.state text { fill: var(--on-state); pointer-events: none; }
.held rect { fill: var(--page); stroke-width: 1.5; }
.held text { stroke: none; }
.fault .sign { stroke: var(--muted); stroke-width: 1.6; fill: var(--page); }
.fault text { fill: var(--muted); font-weight: 600; }
.fault.crash .sign { stroke: var(--bad); stroke-width: 3; stroke-linecap: round; fill: none; }
.fault.crash text { fill: var(--bad); }
.fault.net .sign { stroke: var(--net); stroke-dasharray: 7 4; }
.fault.net text { fill: var(--net); }
.lit path:not(.hit) { stroke: var(--lit); stroke-width: 2.4; }
.lit .head { fill: var(--lit); }
.message.lit, .unheard.lit { fill: var(--lit); font-weight: 650; }
svg.chosen .arrow:not(.chosen), svg.chosen .lost:not(.chosen), svg.chosen .pending:not(.chosen),
svg.chosen .message:not(.chosen), svg.chosen .unheard:not(.chosen) { opacity: 0.1; }
@media print { .names { position: static; } .zoom { display: none; } }
)";

constexpr std::string_view kScript = R"(
for (const diagram of document.querySelectorAll('.space-time')) {
  const picture = diagram.querySelector('.picture');
  const names = diagram.querySelector('.names').firstElementChild;
  const all = (selector) => picture.querySelectorAll(selector);
  let lit = null;
  picture.addEventListener('mouseover', (event) => {
    const over = event.target.closest('[data-number]');
    const number = over ? over.dataset.number : null;
    if (number === lit) return;
    all('.lit').forEach((it) => it.classList.remove('lit'));
    if (number !== null) all(`[data-number="${number}"]`).forEach((it) => it.classList.add('lit'));
    lit = number;
  });
  const buttons = diagram.querySelectorAll('button[data-message]');
  buttons.forEach((button) => button.addEventListener('click', () => {
    const on = button.getAttribute('aria-pressed') !== 'true';
    buttons.forEach((it) => it.setAttribute('aria-pressed', it === button && on));
    picture.classList.toggle('chosen', on);
    all('[data-label]').forEach((it) =>
      it.classList.toggle('chosen', on && it.dataset.label === button.dataset.message));
  }));
  let zoom = 1;
  const scale = (by) => {
    zoom = by === 0 ? 1 : Math.min(4, Math.max(0.2, zoom * by));
    for (const svg of [picture, names]) {
      svg.setAttribute('width', svg.viewBox.baseVal.width * zoom);
      svg.setAttribute('height', svg.viewBox.baseVal.height * zoom);
    }
  };
  diagram.querySelectorAll('button[data-zoom]').forEach((button) =>
    button.addEventListener('click', () => scale(Number(button.dataset.zoom))));
}
)";

}  // namespace

std::string space_time_style() {
  std::string style;
  style += ":root {";
  style += kLight;
  style += "}\n@media (prefers-color-scheme: dark) { :root:not([data-colours=light]) {";
  style += kDark;
  style += "} }\n:root[data-colours=dark] {";
  style += kDark;
  style += "}";
  style += kRules;
  for (std::size_t i = 0; i < kStateColours; ++i)
    style += fmt::format(".c{0} {{ --c: var(--s{0}); }}\n", i);
  style += ".life.up.c, .life.paused.c, .held rect { stroke: var(--c); }\n";
  style += ".state rect { fill: var(--c); }\n.swatch i.c { background: var(--c); }\n";
  return style;
}

std::string space_time_script() { return std::string(kScript); }

}  // namespace tempo::report
