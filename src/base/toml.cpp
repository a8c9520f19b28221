// TOML parser on top of toml++. No other file includes that library.
#include "base/toml.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

// toml++ asserts conditions that a file can violate (`[?]` is one example), so a failed assertion
// is reported as a syntax error of the file.
namespace tempo {
struct ParserAssertion {};
[[noreturn]] static void parser_assertion_failed() { throw ParserAssertion{}; }
}  // namespace tempo
#undef NDEBUG
#define TOML_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : tempo::parser_assertion_failed())
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

namespace tempo {
namespace {

constexpr std::size_t kMaxSyntaxMistakes = 20;

TomlPlace position_of(const toml::source_position& at) { return {at.line, at.column}; }

// The first syntax error of a file.
struct SyntaxError {
  toml::source_position at;
  std::string what;
};

// Bounds the nesting of a text before the parser recurses: every part of a dotted key and every
// bracket is one level.
class Nesting {
 public:
  // Takes the next character; `quoted`: it is in a string or a comment. Returns the defect; null:
  // none.
  const char* take(char c, bool quoted) {
    ++length_;
    if (quoted) {
      begins_ = false;
      return nullptr;
    }
    if (c == '.')
      return ++parts_ > kMaxKeyParts ? "a key has at most 8 parts; shorten it" : nullptr;
    const bool long_key = length_ > kMaxKeyBytes && (c == '=' || (header_ && c == ']'));
    if (std::string_view("=,[]{}\n").contains(c)) {
      header_ = c == '[' && (header_ || (begins_ && depth_ == 0));
      parts_ = 1;
      length_ = 0;
    }
    begins_ = c == '\n' || (begins_ && (c == ' ' || c == '\t'));
    if (c == '[' || c == '{') ++depth_;
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
    if (depth_ > kMaxDepth) return "values are nested more than 16 deep; remove brackets";
    return long_key ? "a key has at most 256 characters; shorten it" : nullptr;
  }

 private:
  static constexpr std::size_t kMaxKeyParts = 8;
  static constexpr std::size_t kMaxKeyBytes = 256;
  static constexpr std::size_t kMaxDepth = 16;

  std::size_t parts_ = 1;   // of the key, if these characters are one
  std::size_t length_ = 0;  // of the key, in bytes
  std::size_t depth_ = 0;   // open brackets
  bool begins_ = true;      // this line has had only blanks
  bool header_ = false;     // in a table header
};

// The first place that must not reach the parser. toml++ overflows the stack on deep nesting, and
// reaches code that it marks as unreachable at a non-ASCII character that is outside quotes and
// comments or follows a backslash.
std::optional<SyntaxError> dangerous_text(std::string_view text) {
  constexpr const char* kStray =
      "non-ASCII character outside quotes and comments; put it in quotes";
  const auto non_ascii = [&](std::size_t i) {
    return i < text.size() && static_cast<unsigned char>(text[i]) >= 0x80;
  };
  Nesting nesting;
  toml::source_position at{1, 0};
  bool comment = false;
  std::string quote;  // the delimiter that ends the current string; empty: not in a string
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    ++at.column;
    const bool plain = c == '\n' ? quote.size() < 3 : quote.empty() && !comment;
    if (const char* const defect = nesting.take(c, !plain)) return SyntaxError{at, defect};
    if (c == '\n') {
      at = {at.line + 1, 0};
      comment = false;
      if (quote.size() == 1) quote.clear();
    } else if (!quote.empty()) {
      const bool escapes = c == '\\' && quote[0] == '"';
      if (escapes && non_ascii(i + 1)) return SyntaxError{at, kStray};
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
      if (non_ascii(i)) return SyntaxError{at, kStray};
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

// Position of the first line that looks like a table header but has no name.
toml::source_position nameless_header(std::string_view text) {
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

Result<toml::table, SyntaxError> parse_unchecked(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& mistake) {
    return std::unexpected(SyntaxError{mistake.source().begin, std::string(mistake.description())});
  } catch (const ParserAssertion&) {
    return std::unexpected(
        SyntaxError{nameless_header(text), "invalid table header; write it as [name]"});
  }
}

// The text with every non-ASCII byte replaced by two letters, so that keys that differ only in such
// bytes stay different.
std::string to_ascii(std::string_view text) {
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
// Converts a position in `to_ascii(text)` to the position in `text`, in characters.
toml::source_position from_ascii(std::string_view text, toml::source_position at) {
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

// In a file with a syntax error toml++ may read quoted text as a bare key and reach its unreachable
// code. An ASCII version of the text is therefore parsed first.
Result<toml::table, SyntaxError> parse_toml(std::string_view text) {
  if (auto danger = dangerous_text(text)) return std::unexpected(*std::move(danger));
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    if (auto ascii = parse_unchecked(to_ascii(text)); !ascii)
      return std::unexpected(
          SyntaxError{from_ascii(text, ascii.error().at), std::move(ascii.error().what)});
  }
  return parse_unchecked(text);
}

TomlNode node_of(const toml::node& node);

TomlTable table_of(const toml::table& table) {
  TomlTable entries;
  for (const auto& [key, node] : table)
    entries.push_back({position_of(key.source().begin), std::string(key.str()), node_of(node)});
  std::ranges::stable_sort(entries, {}, [](const TomlEntry& entry) {
    return std::pair{entry.at.line, entry.at.column};
  });
  return entries;
}

// Recursive; `dangerous_text` limits the nesting of a file.
TomlNode node_of(const toml::node& node) {
  TomlNode read{position_of(node.source().begin), Odd{"a date or time"}};
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

// Blanks a line. Returns false if the line holds a table header or does not exist.
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

// toml++ stops at the first syntax error. This function blanks that line and parses again, so that
// one call reports all errors. After an invalid table header the keys below it would look
// misplaced, so no table is returned then.
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
    file.mistakes.push_back({position_of(at), parsed.error().what});
    readable = blank(text, at.line) && readable;
  }
  return file;
}

Result<TomlNode> read_toml_value(std::string_view text) {
  const auto parsed = parse_toml("value = " + std::string(text));
  if (!parsed || parsed->size() != 1)
    return std::unexpected("'" + std::string(text) + "' is not a TOML value");
  return node_of(*parsed->get("value"));
}

}  // namespace tempo
