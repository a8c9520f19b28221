#include "lab/studies/daemon/record_damage.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tempo::sim::daemon {
namespace {

sys::FileText good(std::string text) {
  return {.state = sys::FileState::good, .text = std::move(text), .error = {}};
}

void flip(std::string& text, Stream& stream) {
  const std::uint64_t bit = stream.below(text.size() * 8);
  text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
}

}  // namespace

std::string_view name_of(Accident accident) {
  static constexpr std::array<std::string_view, std::to_underlying(Accident::count)> kNames{
      "flipped", "truncated", "extended", "emptied",          "zeroed",   "torn", "directory",
      "removed", "old-copy",  "of-other", "previous-flipped", "restored", "wiped"};
  return kNames[std::to_underlying(accident)];
}

std::optional<sys::RecordFiles> files_after(Accident accident, const Generations& generations,
                                            Stream& stream) {
  const std::uint64_t number = generations.older.size() + 2;
  const auto older = [&](std::uint64_t place) {
    return sys::generation_text(generations.older[place].text(), place + 1);
  };
  const auto some_older = [&] { return stream.below(generations.older.size()); };
  sys::RecordFiles files;
  files.current = good(sys::generation_text(generations.current.text(), number));
  if (generations.previous)
    files.previous = good(sys::generation_text(generations.previous->text(), number - 1));
  std::string& text = files.current.text;
  switch (accident) {
    case Accident::flipped:
      flip(text, stream);
      return files;
    case Accident::truncated:
      text.resize(stream.below(text.size()));
      return files;
    case Accident::extended:
      text += text.substr(stream.below(text.size()));
      return files;
    case Accident::emptied:
      text.clear();
      return files;
    case Accident::zeroed:
      std::ranges::fill(text, '\0');
      return files;
    case Accident::torn: {
      const std::string& old = files.previous.text;
      if (old.empty() || old == text) return std::nullopt;
      const std::string whole = text;
      text.resize(stream.below(text.size()));
      if (old.size() > text.size()) text += old.substr(text.size());
      if (text == whole || text == old) return std::nullopt;
      return files;
    }
    case Accident::directory:
      files.current = {.state = sys::FileState::lost, .text = {}, .error = "is a directory"};
      return files;
    case Accident::removed:
      if (!generations.previous) return std::nullopt;
      files.current = {};
      return files;
    case Accident::old_copy:
      if (!generations.previous) return std::nullopt;
      if (generations.older.empty() || stream.chance(0.5))
        text = files.previous.text;
      else
        text = older(some_older());
      return files;
    case Accident::of_other:
      if (!generations.of_other) return std::nullopt;
      text = sys::generation_text(generations.of_other->text(), number + stream.below(3));
      return files;
    case Accident::previous_flipped:
      if (!generations.previous) return std::nullopt;
      flip(files.previous.text, stream);
      return files;
    case Accident::restored: {
      if (generations.older.size() < 2) return std::nullopt;
      const std::uint64_t place = 1 + stream.below(generations.older.size() - 1);
      text = older(place);
      files.previous.text = older(place - 1);
      files.previous.state = sys::FileState::good;
      return files;
    }
    case Accident::wiped:
      return sys::RecordFiles{};
    case Accident::count:
      break;
  }
  std::unreachable();
}

}  // namespace tempo::sim::daemon
