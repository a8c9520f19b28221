// Reads TOML, the only file that knows the library.
#include "base/toml.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

// The parser asserts what a file can break (`[?]` is one): its assertions are mistakes of the file.
namespace tempo {
struct ParserLost {};
[[noreturn]] static void parser_lost() { throw ParserLost{}; }
}  // namespace tempo
#undef NDEBUG
#define TOML_ASSERT(expression) ((expression) ? static_cast<void>(0) : tempo::parser_lost())
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

namespace tempo {
namespace {

constexpr std::size_t kMaxSyntaxMistakes = 20;

TomlPlace place_of(const toml::source_position& at) { return {at.line, at.column}; }

// Where the first letter is that is not ASCII and stands outside quotes and comments, or behind a
// backslash. There the parser would meet a case it calls unreachable.
std::optional<toml::source_position> stray_letter(std::string_view text) {
  const auto foreign = [&](std::size_t i) {
    return i < text.size() && static_cast<unsigned char>(text[i]) >= 0x80;
  };
  toml::source_position at{1, 0};
  bool comment = false;
  std::string quote;  // what ends the string we are in
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    ++at.column;
    if (c == '\n') {
      at = {at.line + 1, 0};
      comment = false;
      if (quote.size() == 1) quote.clear();
    } else if (!quote.empty()) {
      const bool escapes = c == '\\' && quote[0] == '"';
      if (escapes && foreign(i + 1)) return at;
      if (escapes && i + 1 < text.size() && text[i + 1] != '\n') {
        ++i;
        ++at.column;
      } else if (text.substr(i).starts_with(quote) &&
                 !(quote.size() == 3 && text.substr(i + 1).starts_with(quote))) {
        i += quote.size() - 1;
        at.column += static_cast<toml::source_index>(quote.size() - 1);
        quote.clear();
      }
    } else if (!comment) {
      if (foreign(i)) return at;
      comment = c == '#';
      if (c == '"' || c == '\'') {
        quote =
            text.substr(i).starts_with(std::string(3, c)) ? std::string(3, c) : std::string(1, c);
        i += quote.size() - 1;
        at.column += static_cast<toml::source_index>(quote.size() - 1);
      }
    }
  }
  return std::nullopt;
}

// Where the first line begins that looks like a table's header and has no name in it.
toml::source_position odd_header(std::string_view text) {
  constexpr std::string_view kName =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_\"'";
  toml::source_position at{1, 1};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t bracket = line.find_first_not_of(" \t\r");
    if (bracket != std::string_view::npos && line[bracket] == '[') {
      const std::size_t name = line.find_first_not_of("[ \t", bracket);
      if (name == std::string_view::npos || kName.find(line[name]) == std::string_view::npos) {
        at.column = static_cast<toml::source_index>(bracket + 1);
        return at;
      }
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++at.line;
  }
  return {1, 1};
}

// The file's table, or the first mistake in its grammar.
struct BadGrammar {
  toml::source_position at;
  std::string what;
};
Result<toml::table, BadGrammar> parse_ascii_or_sound(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& mistake) {
    return std::unexpected(BadGrammar{mistake.source().begin, std::string(mistake.description())});
  } catch (const ParserLost&) {
    return std::unexpected(BadGrammar{odd_header(text), "a table's header is [ and a name and ]"});
  }
}

// The text with every byte that is not ASCII spelt in letters, so that what differs stays
// different.
std::string spelt(std::string_view text) {
  constexpr std::string_view kLetters = "ghijklmnopqrstuv";
  std::string ascii;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      ascii += c;
    else
      (ascii += kLetters[byte >> 4]) += kLetters[byte & 15];
  }
  return ascii;
}
// Where a place of the spelt text is in the text itself, by characters.
toml::source_position unspelt(std::string_view text, toml::source_position at) {
  for (toml::source_index line = 1; line < at.line; ++line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  toml::source_index characters = 0;
  toml::source_index letters = 0;
  for (std::size_t i = 0; i < text.size() && letters < at.column; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    letters += byte < 0x80 ? 1 : 2;
    characters += (byte & 0xC0) == 0x80 ? 0 : 1;
  }
  return {at.line, std::max<toml::source_index>(characters, 1)};
}

// Where a file is broken the parser may take for a bare word what stands between quotes: its
// grammar is tested with letters alone first.
Result<toml::table, BadGrammar> parse_toml(std::string_view text) {
  if (const auto at = stray_letter(text))
    return std::unexpected(BadGrammar{*at, "outside quotes and comments, letters are ASCII"});
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    if (auto plain = parse_ascii_or_sound(spelt(text)); !plain)
      return std::unexpected(
          BadGrammar{unspelt(text, plain.error().at), std::move(plain.error().what)});
  }
  return parse_ascii_or_sound(text);
}

TomlNode node_of(const toml::node& node);

TomlTable table_of(const toml::table& table) {
  TomlTable entries;
  for (const auto& [key, node] : table)
    entries.push_back({place_of(key.source().begin), std::string(key.str()), node_of(node)});
  std::ranges::stable_sort(entries, {}, [](const TomlEntry& entry) {
    return std::pair{entry.at.line, entry.at.column};
  });
  return entries;
}

// As deep as the file nests, which the parser bounds.
TomlNode node_of(const toml::node& node) {
  TomlNode read{place_of(node.source().begin), Odd{"a date or time"}};
  if (const auto* flag = node.as_boolean()) read.value = flag->get();
  if (const auto* whole = node.as_integer()) read.value = whole->get();
  if (const auto* number = node.as_floating_point()) read.value = number->get();
  if (const auto* text = node.as_string()) read.value = text->get();
  if (const auto* table = node.as_table()) read.value = table_of(*table);
  if (const auto* array = node.as_array()) {
    TomlArray elements;
    for (const toml::node& element : *array) elements.push_back(node_of(element));
    read.value = std::move(elements);
  }
  return read;
}

// Says whether the line held no table header.
bool blank(std::string& text, std::uint32_t line) {
  std::size_t from = 0;
  for (std::uint32_t i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n', from);
    if (end == std::string::npos) return false;
    from = end + 1;
  }
  const std::size_t end = std::min(text.find('\n', from), text.size());
  const std::size_t first = text.find_first_not_of(" \t", from);
  const bool header = first < end && text[first] == '[';
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(from),
            text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
  return !header;
}

}  // namespace

// The parser stops at the first mistake of grammar. Its line is blanked and the rest read again, so
// that all of them are told; a broken table header would make the keys below it look misplaced, so
// they are left for the next time.
TomlFile read_toml(std::string text) {
  TomlFile file;
  std::set<std::uint32_t> blanked;
  bool readable = true;
  for (std::size_t tries = 0; tries < kMaxSyntaxMistakes; ++tries) {
    const auto parsed = parse_toml(text);
    if (parsed) {
      if (readable) file.table = table_of(*parsed);
      return file;
    }
    const toml::source_position at = parsed.error().at;
    if (!blanked.insert(at.line).second) return file;
    file.mistakes.push_back({place_of(at), parsed.error().what});
    readable = blank(text, at.line) && readable;
  }
  return file;
}

Result<TomlNode> read_toml_value(std::string_view text) {
  const auto parsed = parse_toml("value = " + std::string(text));
  if (!parsed || parsed->size() != 1)
    return std::unexpected("'" + std::string(text) + "' is no value");
  return node_of(*parsed->get("value"));
}

}  // namespace tempo
