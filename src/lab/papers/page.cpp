#include "lab/papers/page.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/display_text.h"
#include "lab/report/chart_page.h"
#include "lab/report/space_time_page.h"

namespace tempo::papers {
namespace {

using report::escaped;
using report::put;

constexpr std::string_view kStyle = R"(
body { line-height: 1.5; }
main { max-width: 78rem; margin: 0 auto; padding: 26px 28px 60px; box-sizing: border-box; }
h1 { font-size: 28px; }
h2 { font-size: 21px; font-weight: 650; margin: 46px 0 4px; padding-top: 14px; border-top: 1px solid var(--faint); }
h3 { font-size: 16.5px; font-weight: 650; margin: 30px 0 2px; }
p.lead { font-size: 15.5px; max-width: 62rem; color: var(--ink); margin: 8px 0; }
p.about, p.cite { color: var(--muted); margin: 2px 0 10px; max-width: 62rem; }
nav { display: grid; grid-template-columns: 13rem 1fr; gap: 5px 8px; margin: 9px 0; align-items: baseline; }
nav b { font-size: 13px; font-weight: 600; color: var(--muted); }
nav div { display: flex; flex-wrap: wrap; gap: 5px 8px; }
@media (max-width: 45rem) { nav { grid-template-columns: 1fr; } }
nav a { color: var(--ink); text-decoration: none; background: var(--panel); border: 1px solid var(--faint);
  border-radius: 14px; padding: 3px 12px; font-size: 13px; }
nav a:hover, a.show:hover { border-color: var(--lit); color: var(--lit); }
.tallies { display: flex; flex-wrap: wrap; gap: 12px; margin: 16px 0 4px; }
.tally { background: var(--panel); border-radius: 8px; padding: 10px 18px; min-width: 7rem; }
.tally b { display: block; font-size: 26px; line-height: 1.15; font-variant-numeric: tabular-nums; }
.tally span { color: var(--muted); font-size: 13px; }
.scroll { overflow-x: auto; }
table.claims { border-collapse: collapse; width: 100%; margin: 8px 0 14px; font-size: 13px; }
table.claims th { text-align: left; font-weight: 600; color: var(--muted); font-size: 12px; }
table.claims th, table.claims td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--faint); vertical-align: top; }
table.claims td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
table.claims td.w { font-variant-numeric: tabular-nums; min-width: 8rem; }
table.claims td.i { color: var(--muted); white-space: nowrap; font-variant-numeric: tabular-nums; }
.verdict { display: inline-block; border-radius: 9px; padding: 0 9px; font-size: 12px; font-weight: 600; white-space: nowrap; }
.verdict.agrees { color: var(--s6); background: color-mix(in srgb, var(--s6) 14%, transparent); }
.verdict.erratum { color: var(--s1); background: color-mix(in srgb, var(--s1) 16%, transparent); }
.verdict.undecided { color: var(--muted); background: color-mix(in srgb, var(--muted) 16%, transparent); }
.verdict.disagrees { color: var(--on-state); background: var(--bad); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr)); gap: 26px 34px;
  margin: 14px 0; }
.charts:has(> :only-child) { grid-template-columns: minmax(0, 46rem); }
.diagram { margin: 16px 0; border: 1px solid var(--faint); border-radius: 8px; padding: 12px 16px; }
.diagram h4 { margin: 0; font-size: 14px; font-weight: 650; }
.diagram p { margin: 2px 0; color: var(--muted); font-size: 13px; }
.diagram .sheet { overflow: auto; max-height: 560px; margin-top: 8px; }
.diagram .names { top: 0; }
dl.erratum { display: grid; grid-template-columns: 8rem 1fr; gap: 3px 14px; margin: 8px 0 14px; font-size: 13.5px; }
dl.erratum dt { color: var(--muted); } dl.erratum dd { margin: 0; }
a.show { color: var(--muted); font-size: 12px; border: 1px solid var(--faint); border-radius: 9px; padding: 0 8px;
  text-decoration: none; white-space: nowrap; }
@media print { nav { display: none; } .diagram .sheet { max-height: none; } }
)";

std::size_t count_of(const std::vector<Chapter>& chapters, Verdict verdict) {
  std::size_t count = 0;
  for (const Chapter& chapter : chapters)
    count += static_cast<std::size_t>(
        std::ranges::count(chapter.findings.claims, verdict, &Claim::verdict));
  return count;
}

void put_claims(std::string& all, const std::vector<Claim>& claims) {
  if (claims.empty()) return;
  all +=
      "<div class=\"scroll\"><table class=\"claims\"><thead><tr><th>section</th><th>claim</th>"
      "<th>predicted</th><th>measured</th><th>interval</th><th></th></tr></thead><tbody>\n";
  for (const Claim& claim : claims) {
    put(all,
        R"(<tr><td class="n">{}</td><td>{}{}</td><td class="w">{}</td><td class="w">{}</td>)"
        R"(<td class="i">{}</td><td><span class="verdict {}">{}</span></td></tr>)"
        "\n",
        escaped(claim.section), escaped(claim.says),
        claim.diagram.empty()
            ? std::string()
            : fmt::format(R"( <a class="show" href="#diagram-{}">picture</a>)", claim.diagram),
        escaped(claim.prediction), escaped(claim.measurement), escaped(claim.interval),
        name_of(claim.verdict), name_of(claim.verdict));
  }
  all += "</tbody></table></div>\n";
}

void put_diagram(std::string& all, const Diagram& diagram) {
  put(all, "<div class=\"diagram\" id=\"diagram-{}\"><h4>{}</h4><p>{}</p>\n", escaped(diagram.id),
      escaped(diagram.title), escaped(diagram.caption));
  all += diagram.html;
  all += "</div>\n";
}

bool shows_erratum(const Findings& findings, const Diagram& diagram) {
  return std::ranges::any_of(findings.claims, [&](const Claim& claim) {
    return claim.verdict == Verdict::erratum && claim.diagram == diagram.id;
  });
}

void put_chapter(std::string& all, const Chapter& chapter) {
  const Findings& findings = chapter.findings;
  put(all, "<section id=\"{}\"><h3>{}</h3><p class=\"about\">{}</p>\n", chapter.experiment->name,
      escaped(chapter.experiment->title), escaped(chapter.experiment->about));
  if (!findings.charts.empty()) {
    all += "<div class=\"charts\">\n";
    for (const report::Chart& chart : findings.charts) all += report::chart_figure(chart);
    all += "</div>\n";
  }
  put_claims(all, findings.claims);
  // Diagrams of errata stand in the section of errata.
  for (const Diagram& diagram : findings.diagrams)
    if (!shows_erratum(findings, diagram)) put_diagram(all, diagram);
  all += "</section>\n";
}

void put_erratum(std::string& all, const Claim& claim, const Findings& findings) {
  put(all,
      "<h3>{}, section {}</h3><dl class=\"erratum\"><dt>printed</dt><dd>{}</dd>"
      "<dt>would mean</dt><dd>{}</dd><dt>found</dt><dd>{}</dd><dt>repair</dt><dd>{}</dd></dl>\n",
      escaped(citation_of(claim.paper).authors), escaped(claim.section), escaped(claim.says),
      escaped(claim.prediction), escaped(claim.measurement), escaped(claim.repair));
  for (const Diagram& diagram : findings.diagrams)
    if (!claim.diagram.empty() && diagram.id == claim.diagram) put_diagram(all, diagram);
}

void put_errata(std::string& all, const std::vector<Chapter>& chapters) {
  all +=
      "<h2 id=\"errata\">Errata</h2><p class=\"about\">Statements printed in the papers that are "
      "false. Each was refuted in this run by a shortest counterexample that the checker found in "
      "the smallest world that shows it, drawn from a replay by separate machines.</p>\n";
  for (const Chapter& chapter : chapters)
    for (const Claim& claim : chapter.findings.claims)
      if (claim.verdict == Verdict::erratum) put_erratum(all, claim, chapter.findings);
}

void put_contents(std::string& all, const std::vector<Chapter>& chapters, Paper paper) {
  const auto of_paper = [&](const Chapter& it) { return it.experiment->paper == paper; };
  if (std::ranges::none_of(chapters, of_paper)) return;
  put(all, "<nav><b>{}</b><div>", escaped(citation_of(paper).authors));
  for (const Chapter& chapter : chapters)
    if (of_paper(chapter))
      put(all, "<a href=\"#{}\">{}</a>", chapter.experiment->name,
          escaped(chapter.experiment->title));
  all += "</div></nav>\n";
}

void put_summary(std::string& all, const std::vector<Chapter>& chapters,
                 const PageOptions& options) {
  put(all,
      "<h1>The papers, reproduced</h1>\n<p class=\"lead\">Each claim of the papers that tempo is "
      "based on, with its prediction and its measurement. Predictions are exact or taken from the "
      "papers; measurements are simulations of the shipped machines, exhaustive searches of their "
      "states, or Monte Carlo samples. Intervals have a confidence of {:.2f} %. A claim agrees if "
      "its interval contains the predicted value; it is an erratum if it is printed and this run "
      "has refuted it.</p>\n<p class=\"about\">tempo {}, effort {}, seed {}. Drag over a chart to "
      "zoom, double-click to reset; point at a mark to read its value; click a name to hide its "
      "series.</p>\n",
      kConfidence * 100, escaped(options.version), name_of(options.effort), options.seed);
  all += "<div class=\"tallies\">";
  for (const Verdict verdict :
       {Verdict::agrees, Verdict::erratum, Verdict::undecided, Verdict::disagrees})
    put(all, "<div class=\"tally\" data-verdict=\"{0}\"><b>{1}</b><span>{0}</span></div>",
        name_of(verdict), count_of(chapters, verdict));
  all += "</div>\n";
  for (std::size_t i = 0; i < kPapers; ++i) put_contents(all, chapters, static_cast<Paper>(i));
  all += "<nav><b>all papers</b><div><a href=\"#errata\">Errata</a></div></nav>\n";
}

}  // namespace

std::string page(const std::vector<Chapter>& chapters, const PageOptions& options) {
  std::string all =
      "<!doctype html>\n<html lang=\"en\" data-colours=\"auto\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"/>\n<link rel=\"icon\" href=\"data:,\"/>\n<title>The papers, "
      "reproduced</title>\n<style>\n";
  all += report::space_time_style();
  all += report::chart_style();
  all += kStyle;
  all += "</style>\n</head>\n<body>\n<main>\n";
  put_summary(all, chapters, options);
  for (std::size_t i = 0; i < kPapers; ++i) {
    const auto paper = static_cast<Paper>(i);
    const auto of_paper = [&](const Chapter& it) { return it.experiment->paper == paper; };
    if (std::ranges::none_of(chapters, of_paper)) continue;
    const Citation& cited = citation_of(paper);
    put(all, "<h2 id=\"paper-{}\">{}</h2><p class=\"cite\">{}, {}</p>\n", name_of(paper),
        escaped(cited.title), escaped(cited.authors), cited.year);
    for (const Chapter& chapter : chapters)
      if (of_paper(chapter)) put_chapter(all, chapter);
  }
  put_errata(all, chapters);
  all += "</main>\n<script>";
  all += report::chart_script();
  all += report::space_time_script();
  return all + "</script>\n</body>\n</html>\n";
}

}  // namespace tempo::papers
