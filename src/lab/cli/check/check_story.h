// What a check has found, told step by step: for the commands that do not write a script of it.
#pragma once

#include <string>
#include <vector>

#include "lab/cli/check/check_search.h"
#include "lab/check/story.h"

namespace tempo::cli {

struct Story {
  check::Finding finding{};
  std::vector<std::string> stem{};
  std::vector<std::string> cycle{};  // empty unless it goes in a circle
};

// Tells it with the assumptions under which it was found; `kept` is said if nothing is broken. The
// exit status.
int notify(const Story& story, const std::vector<std::string>& assumptions, const std::string& kept,
         bool json);

// Searches the space, and puts what was found into words.
template <class Model, class Words>
Story story_of(check::Space<Model>& space, const check::SearchOptions& options,
               const Words& words) {
  Story story{.finding = searched(space, options)};
  if (!story.finding.violation) return story;
  story.stem = check::told(space, story.finding.violation->stem, words);
  story.cycle = check::told(space, story.finding.violation->cycle, words);
  return story;
}

}  // namespace tempo::cli
