// Parses the space-time page with a small scanner and compares it with the trace.
#include "lab/report/space_time.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "lab/report/space_time_layout.h"
#include "lab/report/space_time_test_run.h"

namespace tempo::report {
namespace {

using sim::Happening;
using sim::What;

struct Element {
  std::string tag;
  std::map<std::string, std::string> attributes;

  const std::string& at(const std::string& name) const { return attributes.at(name); }
  bool has_class(std::string_view wanted) const {
    const auto found = attributes.find("class");
    if (found == attributes.end()) return false;
    return (' ' + found->second + ' ').find(' ' + std::string(wanted) + ' ') != std::string::npos;
  }
};

std::string unescaped(std::string text) {
  for (const auto& [name, letter] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
    for (std::size_t at = 0; (at = text.find(name, at)) != text.npos; ++at)
      text.replace(at, std::string_view(name).size(), letter);
  return text;
}

// Reads every tag, strictly: attributes quoted, every tag closed. Skips style and script.
class Scanner {
 public:
  explicit Scanner(std::string_view page) : rest_(page) {
    while (problem_.empty() && skip_to_tag()) read_tag();
    if (problem_.empty() && !open_.empty()) problem_ = "never closed: " + open_.back();
  }

  const std::vector<Element>& elements() const { return elements_; }
  const std::string& problem() const { return problem_; }

  std::vector<Element> of_class(std::string_view wanted) const {
    std::vector<Element> some;
    for (const Element& it : elements_)
      if (it.has_class(wanted)) some.push_back(it);
    return some;
  }

 private:
  bool skip_to_tag() {
    const std::size_t at = rest_.find('<');
    const std::string_view text = rest_.substr(0, at);
    for (std::size_t i = 0; (i = text.find('&', i)) != text.npos; ++i)
      if (text.substr(i, 6).find(';') == text.npos) problem_ = "a bare ampersand";
    if (text.find('>') != text.npos) problem_ = "a bare > near " + std::string(text.substr(0, 40));
    if (at == rest_.npos) return false;
    rest_.remove_prefix(at + 1);
    return true;
  }

  void read_tag() {
    if (rest_.starts_with("!doctype html>")) return rest_.remove_prefix(14);
    const bool closing = rest_.starts_with('/');
    if (closing) rest_.remove_prefix(1);
    Element element{.tag = word(), .attributes = {}};
    if (element.tag.empty()) return fail("a tag without a name");
    while (rest_.starts_with(' ')) {
      rest_.remove_prefix(1);
      const std::string name = word();
      if (!rest_.starts_with("=\"")) return fail("attribute " + name + " without quotes");
      const std::size_t end = rest_.find('"', 2);
      if (end == rest_.npos) return fail("attribute " + name + " without an end");
      const std::string_view value = rest_.substr(2, end - 2);
      if (value.find_first_of("<>") != value.npos)
        return fail("attribute " + name + " is not escaped");
      if (!element.attributes.emplace(name, unescaped(std::string(value))).second)
        return fail(name + " twice");
      rest_.remove_prefix(end + 1);
    }
    const bool empty = rest_.starts_with("/>");
    rest_.remove_prefix(empty ? 1 : 0);
    if (!rest_.starts_with('>')) return fail("no end of tag " + element.tag);
    rest_.remove_prefix(1);
    if (closing) {
      if (open_.empty() || open_.back() != element.tag)
        return fail("closes what is not open: " + element.tag);
      return open_.pop_back();
    }
    if (element.tag == "style" || element.tag == "script")
      rest_.remove_prefix(rest_.find("</" + element.tag));
    if (!empty) open_.push_back(element.tag);
    elements_.push_back(std::move(element));
  }

  std::string word() {
    std::size_t end = 0;
    while (end < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[end])) != 0 || rest_[end] == '-'))
      ++end;
    const std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return text;
  }
  void fail(const std::string& problem) { problem_ = problem; }

  std::string_view rest_;
  std::vector<std::string> open_;
  std::vector<Element> elements_;
  std::string problem_;
};

std::string number(NodeId node) { return std::to_string(index(node) + 1); }
std::string nanos(Instant at) { return std::to_string(at.time_since_epoch().count()); }

using Facts = std::multiset<std::vector<std::string>>;

Facts facts_of(const sim::Trace& trace, What what) {
  Facts facts;
  for (const Happening& it : trace.happenings()) {
    if (it.what != what) continue;
    const std::string label(it.label);
    if (what == What::becomes)
      facts.insert({number(it.node), nanos(it.at), label});
    else if (what == What::disturbed)
      facts.insert({it.node == kNobody ? "*" : number(it.node), nanos(it.at), label});
    else if (what == What::received)
      facts.insert({std::to_string(it.number), number(it.node), number(it.peer), nanos(it.sent),
                    nanos(it.at), label});
    else
      facts.insert(
          {std::to_string(it.number), number(it.node), number(it.peer), nanos(it.at), label});
  }
  return facts;
}

Facts facts_of(const Scanner& page, std::string_view wanted,
               const std::vector<std::string>& names) {
  Facts facts;
  for (const Element& it : page.of_class(wanted)) {
    std::vector<std::string> fact;
    fact.reserve(names.size());
    for (const std::string& name : names) fact.push_back(it.at("data-" + name));
    facts.insert(fact);
  }
  return facts;
}

void expect_same(const sim::Trace& trace, const Scanner& page) {
  EXPECT_EQ(page.problem(), "");
  EXPECT_EQ(facts_of(page, "arrow", {"number", "from", "to", "sent-ns", "received-ns", "label"}),
            facts_of(trace, What::received));
  EXPECT_EQ(facts_of(page, "lost", {"number", "from", "to", "lost-ns", "label"}),
            facts_of(trace, What::lost));
  EXPECT_EQ(facts_of(page, "state", {"node", "at-ns", "state"}), facts_of(trace, What::becomes));
  EXPECT_EQ(facts_of(page, "fault", {"node", "at-ns", "fault"}), facts_of(trace, What::disturbed));
}

TEST(SpaceTimeHtml, ShowsExactlyTheTrace) {
  const sim::Trace trace = election_of_five();
  const std::string html = space_time_html(trace, {.title = "Election"});
  const Scanner page(html);
  expect_same(trace, page);
  EXPECT_EQ(page.of_class("arrow").size(), 22U);
  EXPECT_EQ(page.of_class("lost").size(), 3U);
  EXPECT_EQ(page.of_class("cross").size(), 3U);
  EXPECT_EQ(page.of_class("state").size(), 20U);
  EXPECT_EQ(page.of_class("crash").size(), 1U);
  EXPECT_EQ(page.of_class("note").size(), 0U);
}

TEST(SpaceTimeHtml, IsSelfContained) {
  const std::string html = space_time_html(election_of_five(), {});
  for (const std::string_view outside : {"http:", "https:", "url(", "@import", "src=", "href="})
    EXPECT_EQ(html.find(outside), html.npos) << outside;
}

TEST(SpaceTimeHtml, IsDeterministic) {
  const sim::Trace trace = election_of_five();
  EXPECT_EQ(space_time_html(trace, {}), space_time_html(trace, {}));
}

TEST(SpaceTimeHtml, NamesABroadcastOnce) {
  const Scanner page(space_time_html(election_of_five(), {}));
  std::map<std::string, int> names;
  for (const Element& it : page.of_class("message")) ++names[it.at("data-number")];
  EXPECT_EQ(names.size(), 13U);  // all transmissions
  for (const auto& [transmission, count] : names) EXPECT_EQ(count, 1) << transmission;
}

// The line of the first element of this class; its hit area is the third element, after the title.
Line line_of(const Scanner& page, std::string_view wanted) {
  const auto found = std::ranges::find_if(page.elements(),
                                          [&](const Element& it) { return it.has_class(wanted); });
  Line line{};
  EXPECT_EQ(std::sscanf((found + 2)->at("d").c_str(), "M%lf %lfL%lf %lf", &line.x1, &line.y1,
                        &line.x2, &line.y2),
            4);
  return line;
}

TEST(SpaceTimeHtml, EndsALostMessageShortOfItsReceiver) {
  sim::Trace trace(true);
  RunWriter run(trace);
  const std::uint32_t first = run.send(0, 1, 2, "a");
  const std::uint32_t second = run.send(0, 1, 2, "a");
  run.receive(1, 1, 2, "a", first, 0);
  run.lose(2, 1, 2, "a", second);  // the receiver was down when it arrived
  const Scanner page(space_time_html(trace, {}));
  const Line arrow = line_of(page, "arrow");
  const Line lost = line_of(page, "lost");
  EXPECT_GT(arrow.y2, arrow.y1);
  EXPECT_EQ(arrow.x1, lost.x1);
  EXPECT_LT(lost.x2, arrow.x2 - 20);
  EXPECT_GT(lost.x2, (arrow.x1 + arrow.x2) / 2);
  // It took twice as long, so it falls twice as steeply.
  EXPECT_NEAR((lost.y2 - lost.y1) / (lost.x2 - lost.x1),
              2 * (arrow.y2 - arrow.y1) / (arrow.x2 - arrow.x1), 0.01);
}

constexpr double kRounding = 0.11;  // of coordinates in the page

TEST(SpaceTimeHtml, DoesNotOverlapNamesOfStates) {
  sim::Trace trace(true);
  RunWriter run(trace);
  for (int i = 0; i < 60; ++i)
    run.becomes(i * 0.1, 1 + static_cast<std::uint32_t>(i % 2), i % 3 == 0 ? "candidate" : "slave");
  run.receive(10, 1, 2, "slow", run.send(10, 1, 2, "slow"),
              0);  // sets the scale, so that the states are dense
  std::vector<Box> pills;
  const Scanner page(space_time_html(trace, {}));
  for (const Element& it : page.elements()) {
    if (it.tag != "rect" || !it.attributes.contains("rx")) continue;
    const double left = std::stod(it.at("x"));
    const double top = std::stod(it.at("y"));
    pills.push_back(
        {left, top, left + std::stod(it.at("width")), top + std::stod(it.at("height"))});
  }
  EXPECT_GE(pills.size(), 10U);  // some are omitted, but not all
  EXPECT_LT(pills.size(), 60U);
  for (std::size_t i = 0; i < pills.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(pills[i].left < pills[j].right - kRounding &&
                   pills[j].left < pills[i].right - kRounding &&
                   pills[i].top < pills[j].bottom - kRounding &&
                   pills[j].top < pills[i].bottom - kRounding)
          << i << " and " << j;
}

TEST(SpaceTimeHtml, EscapesText) {
  sim::Trace trace(true);
  RunWriter run(trace);
  const std::string_view nasty = "<b a=\"1\">&'\n";
  const std::uint32_t message = run.send(0, 1, 2, nasty);
  run.receive(1, 1, 2, nasty, message, 0);
  run.lose(1, 1, 2, nasty, message);
  run.becomes(1, 2, nasty);
  run.fault(1, 0, nasty);
  run.send(2, 1, 0, nasty);
  run.send(2, 1, 2, nasty);
  const std::string html = space_time_html(
      trace, {.title = "</title><script>x", .subtitle = "<i>", .names = {"<u>", "\"n\" & co"}});
  const Scanner page(html);
  EXPECT_EQ(page.problem(), "");
  const std::string shown = "<b a=\"1\">&' ";  // the newline becomes a space
  for (const std::string_view kind : {"arrow", "lost", "pending"}) {
    ASSERT_EQ(page.of_class(kind).size(), 1U) << kind;
    EXPECT_EQ(page.of_class(kind)[0].at("data-label"), shown);
  }
  EXPECT_EQ(page.of_class("state")[0].at("data-state"), shown);
  EXPECT_EQ(page.of_class("fault")[0].at("data-fault"), shown);
  std::size_t scripts = 0;
  for (const Element& it : page.elements()) {
    EXPECT_FALSE(it.tag == "b" && !it.attributes.empty()) << "a label became an element";
    EXPECT_TRUE(it.tag != "i" || it.attributes.contains("class"))
        << "the subtitle became an element";
    EXPECT_NE(it.tag, "u");
    if (it.tag == "script") ++scripts;
  }
  EXPECT_EQ(scripts, 1U);
}

TEST(SpaceTimeHtml, CutsALongRunWithANote) {
  sim::Trace trace(true);
  RunWriter run(trace);
  for (int i = 0; i < 6'000; ++i) run.receive(i + 0.5, 1, 2, "tick", run.send(i, 1, 2, "tick"), i);
  const std::string html = space_time_html(trace, {});
  const Scanner page(html);
  EXPECT_EQ(page.problem(), "");
  EXPECT_EQ(page.of_class("arrow").size(), 5'000U);
  EXPECT_EQ(page.of_class("note").size(), 1U);
  EXPECT_NE(html.find("Only the first 5,000 of 6,000 messages are shown: the diagram ends at"),
            html.npos);
  EXPECT_LT(html.size(), 5'000'000U);
}

TEST(SpaceTimeHtml, BoundsTracesWithoutArrows) {
  sim::Trace trace(true);
  RunWriter run(trace);
  for (int i = 0; i < 2'000; ++i) run.becomes(i, 1, i % 2 == 0 ? "on" : "off");
  const Scanner page(space_time_html(trace, {.max_arrows = 10}));
  EXPECT_EQ(page.of_class("state").size(), 1'040U);
  EXPECT_EQ(page.of_class("note").size(), 1U);
}

TEST(SpaceTimeHtml, OmitsExcessNodesWithANote) {
  sim::Trace trace(true);
  RunWriter run(trace);
  for (const std::uint32_t to : {2U, 9U, 300U})
    run.receive(1, 1, to, "hi", run.send(0, 1, to, "hi"), 0);
  const std::string html = space_time_html(trace, {.max_nodes = 8});
  EXPECT_EQ(Scanner(html).of_class("arrow").size(), 1U);
  EXPECT_NE(html.find("Only the first 8 of 300 nodes are shown"), html.npos);
}

TEST(SpaceTimeHtml, ShowsMessagesThatEndInTheWindow) {
  const sim::Trace trace = election_of_five();
  const Scanner page(
      space_time_html(trace, {.from = RunWriter::at(8450.6), .to = RunWriter::at(8451.5)}));
  EXPECT_EQ(page.problem(), "");
  EXPECT_EQ(page.of_class("arrow").size(), 2U);  // election at node 4, accept at node 3
  EXPECT_EQ(page.of_class("lost").size(), 1U);   // election to node 1
  EXPECT_EQ(page.of_class("pending").size(),
            2U);  // accept of node 4, ack to node 2: received later
  EXPECT_EQ(page.of_class("state").size(), 1U);
  EXPECT_EQ(page.of_class("held").size(), 4U);  // states of 2, 3, 4 and 5 at the start; 1 is down
}

TEST(SpaceTimeHtml, BreaksTheLifelineAtACrash) {
  sim::Trace trace(true);
  RunWriter run(trace);
  run.becomes(0, 1, "slave");
  run.fault(1, 1, "pauses");
  run.fault(2, 1, "resumes");
  run.fault(3, 1, "crashes");
  run.fault(4, 1, "starts");
  run.becomes(5, 1, "slave");
  std::vector<std::string> classes;
  for (const Element& it : Scanner(space_time_html(trace, {})).of_class("life"))
    classes.push_back(it.at("class"));
  EXPECT_EQ(classes, (std::vector<std::string>{"life up c c0", "life paused c c0", "life up c c0",
                                               "life down", "life up bare", "life up c c0"}));
}

TEST(SpaceTimeHtml, DrawsAPartitionAsOneMark) {
  sim::Trace trace(true);
  RunWriter run(trace);
  for (int i = 0; i < 6; ++i) run.fault(1, 0, "cut");
  run.fault(2, 0, "heals");
  const std::string html = space_time_html(trace, {.nodes = 4});
  EXPECT_EQ(Scanner(html).of_class("fault").size(), 2U);
  EXPECT_NE(html.find(">cut ×6<"), html.npos);
}

TEST(SpaceTimeHtml, ShortensSilenceAndShowsItsLength) {
  sim::Trace trace(true);
  RunWriter run(trace);
  run.receive(0.1, 1, 2, "a", run.send(0, 1, 2, "a"), 0);
  run.receive(5000.1, 1, 2, "b", run.send(5000, 1, 2, "b"), 5000);
  const std::string html = space_time_html(trace, {});
  EXPECT_EQ(Scanner(html).of_class("gap").size(), 1U);
  EXPECT_NE(html.find("⋮ 5s<"), html.npos);
  EXPECT_EQ(Scanner(space_time_html(trace, {.idle = 10s})).of_class("gap").size(), 0U);
}

TEST(SpaceTimeHtml, DrawsAnEmptyTrace) {
  const Scanner page(space_time_html(sim::Trace(true), {.nodes = 3}));
  EXPECT_EQ(page.problem(), "");
  EXPECT_EQ(page.of_class("life").size(), 3U);
}

TEST(SpaceTimeHtml, OmitsMessagesWithoutASender) {
  sim::Trace trace(true);
  RunWriter run(trace);
  run.receive(1, 0, 1, "forged", 7, 0);
  run.becomes(1, 0, "odd");
  run.receive(2, 1, 1, "self", run.send(1, 1, 1, "self"), 1);
  const Scanner page(space_time_html(trace, {}));
  EXPECT_EQ(page.problem(), "");
  EXPECT_EQ(page.of_class("arrow").size(), 1U);
  EXPECT_EQ(page.of_class("state").size(), 0U);
}

TEST(TimeScale, LaterIsLower) {
  const auto at = [](Nanos span) { return Instant{span}; };
  const TimeScale scale({at(0s), at(1us), at(1ms), at(3ms), at(5s), at(5s + 500us), at(1us)}, 1ms,
                        4ms);
  EXPECT_EQ(scale.instants().size(), 6U);
  double last = -TimeScale::kLeastStep;
  for (const Instant instant : scale.instants()) {
    EXPECT_GE(scale.y(instant), last + TimeScale::kLeastStep);
    last = scale.y(instant);
  }
  ASSERT_EQ(scale.breaks().size(), 1U);
  EXPECT_EQ(scale.breaks()[0].skipped, 5s - 3ms);
  EXPECT_DOUBLE_EQ(scale.y(at(5s)) - scale.y(at(3ms)), TimeScale::kBreakHeight);
  EXPECT_DOUBLE_EQ(scale.y(at(5s + 500us)) - scale.y(at(5s)), TimeScale::kTypicalDrop / 2);
  EXPECT_DOUBLE_EQ(scale.y(at(2ms)), (scale.y(at(1ms)) + scale.y(at(3ms))) / 2);
  EXPECT_DOUBLE_EQ(scale.y(at(9s)), scale.height());
}

TEST(LabelLayout, ReportsOccupiedBoxesAndCoveredLines) {
  LabelLayout layout;
  layout.take({0, 0, 10, 10});
  EXPECT_FALSE(layout.is_free({5, 5, 15, 15}));
  EXPECT_TRUE(layout.is_free({10, 0, 20, 10}));  // adjacent
  layout.draw({0, 100, 100, 200});
  EXPECT_EQ(layout.covered({40, 130, 60, 160}), 1);
  EXPECT_EQ(layout.covered({0, 150, 20, 190}), 0);
  EXPECT_EQ(layout.covered({95, 195, 105, 205}), 3 * 1);  // the arrowhead
}

// A page may contain several figures, so no element has an id.
TEST(SpaceTimeFigure, HasNoPageAroundIt) {
  const sim::Trace trace = election_of_five();
  const std::string figure = space_time_figure(trace, {.title = "five"});
  EXPECT_TRUE(figure.starts_with("<div class=\"space-time\">"));
  EXPECT_EQ(figure.find(" id=\""), std::string::npos);
  for (const char* absent : {"<html", "<style", "<script", "<h1"})
    EXPECT_EQ(figure.find(absent), std::string::npos) << absent;
  const std::string page = space_time_html(trace, {.title = "five"});
  const auto picture = [](const std::string& html) {
    const std::size_t from = html.find("<svg class=\"picture\"");
    return html.substr(from, html.find("</svg>", from) - from);
  };
  EXPECT_FALSE(picture(figure).empty());
  EXPECT_EQ(picture(figure), picture(page));
}

}  // namespace
}  // namespace tempo::report
