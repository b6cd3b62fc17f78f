// The strings extension. Follows: cel-go@v0.26.0 ext/strings.go
#include "kube/cel/library.h"

namespace evenkeel::kube::cel {
namespace {

constexpr std::string_view kWhiteSpace[] = {"\t",     "\n",     "\v",     "\f",     "\r",     " ",      "\u0085",
                                            "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
                                            "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200A", "\u2028",
                                            "\u2029", "\u202F", "\u205F", "\u3000"};

/// The byte at which a code point begins; the text's end for the number of all of them; npos beyond.
size_t ByteOf(std::string_view text, uint64_t point) {
  size_t at = 0;
  for (; point > 0 && at < text.size(); --point)
    for (++at; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; ++at) {
    }
  return point == 0 ? at : std::string_view::npos;
}
size_t ByteOf(std::string_view text, int64_t point) {
  return point < 0 ? std::string_view::npos : ByteOf(text, static_cast<uint64_t>(point));
}

Value OutOfRange(const Call& call, int64_t index) {
  return MakeError(call.arena, fmt::format("index out of range: {}", index));
}

Value CharAt(const Call& call) {
  const std::string_view text = call.args[0].text();
  const int64_t index = call.args[1].int_value();
  const size_t begin = ByteOf(text, index);
  if (begin == std::string_view::npos) return OutOfRange(call, index);
  const std::string_view rest = text.substr(begin);
  return Value::String(rest.substr(0, rest.empty() ? 0 : ByteOf(rest, uint64_t{1})));
}

Value IndexOf(const Call& call) {
  const std::string_view text = call.args[0].text(), part = call.args[1].text();
  const int64_t from = call.args.size() > 2 ? call.args[2].int_value() : 0;
  if (from < 0) return OutOfRange(call, from);
  if (part.empty()) return Value::Int(std::min(from, static_cast<int64_t>(CodePoints(text))));
  const size_t begin = ByteOf(text, from);
  const size_t found = begin == std::string_view::npos ? begin : text.find(part, begin);
  return Value::Int(found == std::string_view::npos ? -1 : static_cast<int64_t>(CodePoints(text.substr(0, found))));
}

Value LastIndexOf(const Call& call) {
  const std::string_view text = call.args[0].text(), part = call.args[1].text();
  const auto size = static_cast<int64_t>(CodePoints(text));
  const int64_t from = call.args.size() > 2 ? call.args[2].int_value() : size;
  if (from < 0) return OutOfRange(call, from);
  if (part.empty()) return Value::Int(std::min(from, size));
  if (from > size) return Value::Int(-1);
  const size_t found = text.rfind(part, ByteOf(text, from));
  return Value::Int(found == std::string_view::npos ? -1 : static_cast<int64_t>(CodePoints(text.substr(0, found))));
}

template <char kFirst, char kLast, int kShift>
Value MapAscii(const Call& call) {
  std::string text(call.args[0].text());
  for (char& c : text)
    if (c >= kFirst && c <= kLast) c = static_cast<char>(c + kShift);
  return MakeString(call.arena, text);
}

Value Replace(const Call& call) {
  const std::string_view text = call.args[0].text(), from = call.args[1].text(), to = call.args[2].text();
  int64_t left = call.args.size() > 3 ? call.args[3].int_value() : -1;
  std::string out;
  size_t at = 0;
  while (left != 0) {
    size_t found = at;
    if (!from.empty()) {
      found = text.find(from, at);
      if (found == std::string_view::npos) break;
      out.append(text.substr(at, found - at)).append(to);
      at = found + from.size();
    } else {
      // Before each character, and at the end.
      out += to;
      if (at >= text.size()) break;
      const size_t size = ByteOf(text.substr(at), uint64_t{1});
      out += text.substr(at, size);
      at += size;
    }
    if (left > 0) --left;
    if (call.arena.TooMuch(out.size())) return Value::Error("the text is too long");
  }
  if (at < text.size()) out += text.substr(at);
  return MakeString(call.arena, out);
}

Value Split(const Call& call) {
  std::string_view text = call.args[0].text();
  const std::string_view by = call.args[1].text();
  const int64_t most = call.args.size() > 2 ? call.args[2].int_value() : -1;
  std::vector<Value> parts;
  if (most == 0) return MakeList(parts, call.arena);
  if (by.empty()) {
    while (!text.empty() && (most < 0 || static_cast<int64_t>(parts.size()) + 1 < most)) {
      const size_t size = ByteOf(text, uint64_t{1});
      parts.push_back(Value::String(text.substr(0, size)));
      text.remove_prefix(size);
    }
    if (!text.empty()) parts.push_back(Value::String(text));
    return MakeList(parts, call.arena);
  }
  for (size_t end = 0; (most < 0 || static_cast<int64_t>(parts.size()) + 1 < most) && (end = text.find(by)) != text.npos;) {
    parts.push_back(Value::String(text.substr(0, end)));
    text.remove_prefix(end + by.size());
  }
  parts.push_back(Value::String(text));
  return MakeList(parts, call.arena);
}

Value Substring(const Call& call) {
  const std::string_view text = call.args[0].text();
  const int64_t begin = call.args[1].int_value();
  const size_t first = ByteOf(text, begin);
  if (call.args.size() == 2)
    return first == std::string_view::npos ? OutOfRange(call, begin) : Value::String(text.substr(first));
  const int64_t end = call.args[2].int_value();
  if (begin > end) return MakeError(call.arena, fmt::format("invalid substring range. start: {}, end: {}", begin, end));
  if (first == std::string_view::npos) return OutOfRange(call, begin);
  const size_t last = ByteOf(text, end);
  return last == std::string_view::npos ? OutOfRange(call, end) : Value::String(text.substr(first, last - first));
}

Value Trim(const Call& call) {
  std::string_view text = call.args[0].text();
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view space : kWhiteSpace) {
      if (text.starts_with(space)) text.remove_prefix(space.size()), more = true;
      if (text.ends_with(space)) text.remove_suffix(space.size()), more = true;
    }
  }
  return Value::String(text);
}

Value JoinTexts(const Call& call) {
  const std::string_view by = call.args.size() > 1 ? call.args[1].text() : std::string_view();
  const List& list = call.args[0].list();
  std::string out;
  for (size_t i = 0; i < list.size(); ++i) {
    const Value item = list.At(i, call.arena);
    if (!item.Is(Kind::kString)) return NoSuchOverload();
    if (i > 0) out += by;
    out += item.text();
    if (call.arena.TooMuch(out.size())) return Value::Error("the text is too long");
  }
  return MakeString(call.arena, out);
}

Value Quote(const Call& call) {
  static constexpr std::string_view kPlain = "\a\b\f\n\r\t\v\\\"";
  static constexpr std::string_view kNames = "abfnrtv\\\"";
  std::string out = "\"";
  for (const char c : call.args[0].text()) {
    const size_t special = kPlain.find(c);
    if (special != std::string_view::npos) out += '\\';
    out += special == std::string_view::npos ? c : kNames[special];
  }
  return MakeString(call.arena, out + "\"");
}

Value ReverseText(const Call& call) {
  std::string_view text = call.args[0].text();
  std::string out;
  while (!text.empty()) {
    const size_t size = ByteOf(text, uint64_t{1});
    out.insert(0, text.substr(0, size));
    text.remove_prefix(size);
  }
  return MakeString(call.arena, out);
}

}  // namespace

void AddStrings(Library& library) {
  library.Add(
      "contains", "string.(string) bool",
      [](const Call& call) { return Value::Bool(call.args[0].text().find(call.args[1].text()) != std::string_view::npos); },
      Cost::kContains);
  library.Add(
      "startsWith", "string.(string) bool",
      [](const Call& call) { return Value::Bool(call.args[0].text().starts_with(call.args[1].text())); }, Cost::kTraverse);
  library.Add(
      "endsWith", "string.(string) bool",
      [](const Call& call) { return Value::Bool(call.args[0].text().ends_with(call.args[1].text())); }, Cost::kTraverse);
  library.Add("charAt", "string.(int) string", CharAt, Cost::kTraverse);
  library.Add("indexOf", "string.(string) int", IndexOf, Cost::kTraverse);
  library.Add("indexOf", "string.(string, int) int", IndexOf, Cost::kTraverse);
  library.Add("lastIndexOf", "string.(string) int", LastIndexOf, Cost::kTraverse);
  library.Add("lastIndexOf", "string.(string, int) int", LastIndexOf, Cost::kTraverse);
  library.Add("lowerAscii", "string.() string", MapAscii<'A', 'Z', 32>, Cost::kTraverse);
  library.Add("upperAscii", "string.() string", MapAscii<'a', 'z', -32>, Cost::kTraverse);
  library.Add("replace", "string.(string, string) string", Replace, Cost::kTraverseTwice);
  library.Add("replace", "string.(string, string, int) string", Replace, Cost::kTraverseTwice);
  library.Add("split", "string.(string) list(string)", Split, Cost::kTraverseTwice);
  library.Add("split", "string.(string, int) list(string)", Split, Cost::kTraverseTwice);
  library.Add("substring", "string.(int) string", Substring, Cost::kTraverse);
  library.Add("substring", "string.(int, int) string", Substring, Cost::kTraverse);
  library.Add("trim", "string.() string", Trim, Cost::kTraverse);
  library.Add("join", "list(string).() string", JoinTexts, Cost::kTraverseResult);
  library.Add("join", "list(string).(string) string", JoinTexts, Cost::kTraverseResult);
  library.Add("strings.quote", "(string) string", Quote, Cost::kTraverse);
  if (library.Has(Extension::kStringsLatest)) {
    library.Add("reverse", "string.() string", ReverseText, Cost::kTraverse);
    library.Add(
        "format", "string.(list(dyn)) string", [](const Call& call) { return FormatText(call, true); }, Cost::kTraverse);
  } else {
    library.Add(
        "format", "string.(list(dyn)) string", [](const Call& call) { return FormatText(call, false); }, Cost::kTraverse);
  }
}

}  // namespace evenkeel::kube::cel
