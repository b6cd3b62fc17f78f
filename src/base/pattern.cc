#include "base/pattern.h"

#include <re2/re2.h>

#include <list>

namespace evenkeel::base {
namespace {

// What a compiled pattern and the states that it goes through may take. Nearly all fit the first; counted repetitions of
// classes of letters need more. What needs more than that is refused: it would take seconds to compile.
constexpr std::array<size_t, 2> kBytesTiers = {size_t{2} << 20, size_t{32} << 20};

std::string_view GoText(RE2::ErrorCode code) {
  switch (code) {
    case RE2::NoError:
    case RE2::ErrorInternal:
      break;
    case RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
      return "invalid character class";
    case RE2::ErrorBadCharRange:
      return "invalid character class range";
    case RE2::ErrorMissingBracket:
      return "missing closing ]";
    case RE2::ErrorMissingParen:
      return "missing closing )";
    case RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case RE2::ErrorPatternTooLarge:
      return "expression too large";
  }
  return "internal error";
}

Error ParseError(std::string_view what, std::string_view part) {
  return {Code::kInvalid, fmt::format("error parsing regexp: {}: `{}`", what, part)};
}

// Go's syntax in that of RE2: (?<name> is written (?P<name>, and \C, a single byte, is refused.
Result<std::string> FromGo(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 8);
  bool in_class = false, quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (quoted) {
      quoted = !rest.starts_with("\\E");
    } else if (rest.starts_with('\\')) {
      if (!in_class && rest.starts_with("\\C")) return Fail(ParseError("invalid escape sequence", "\\C"));
      if (!in_class && rest.starts_with("\\Q")) quoted = true;
      out += rest.substr(0, 1);
      if (++i >= text.size()) break;
    } else if (in_class) {
      if (rest.starts_with("[:")) {  // its own closing bracket ends no class
        if (const size_t end = rest.find(":]"); end != rest.npos) {
          out += rest.substr(0, end + 1);
          i += end + 1;
        }
      } else {
        in_class = !rest.starts_with(']');
      }
    } else if (rest.starts_with('[')) {
      in_class = true;
      // A bracket that comes first is one of the letters.
      for (const std::string_view first : {"[^]", "[]"}) {
        if (!rest.starts_with(first)) continue;
        out += first.substr(0, first.size() - 1);
        i += first.size() - 1;
        break;
      }
    } else if (rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!")) {
      out += "(?P<";
      i += 2;
      continue;
    }
    out += text[i];
  }
  return out;
}

struct Compiled {
  std::shared_ptr<const RE2> program;
  size_t bytes_max = 0;
};

Result<Compiled> Compile(std::string_view text) {
  if (text.size() > Pattern::kTextBytesMax) return Fail(ParseError("expression too large", text.substr(0, 100)));
  EVENKEEL_ASSIGN(const std::string converted, FromGo(text));
  for (const size_t bytes_max : kBytesTiers) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(static_cast<int64_t>(bytes_max));
    options.set_never_capture(true);
    auto program = std::make_shared<const RE2>(converted, options);
    if (program->ok()) return Compiled{std::move(program), bytes_max};
    const bool too_large = program->error_code() == RE2::ErrorPatternTooLarge;
    if (too_large && bytes_max != kBytesTiers.back()) continue;
    return Fail(ParseError(GoText(program->error_code()), too_large ? std::string(text) : program->error_arg()));
  }
  return Fail(ParseError("expression too large", text));
}

// The patterns that there are, and which of them are compiled. Lives as long as the process.
class Patterns {
 public:
  static Patterns& Instance() {
    static auto* const instance = new Patterns();
    return *instance;
  }

  std::shared_ptr<const Pattern> Find(std::string_view text) {
    std::lock_guard lock(mutex_);
    const auto found = known_.find(text);
    return found == known_.end() ? nullptr : found->second.lock();
  }

  /// The one that is known under the text: another one where two threads came with it at once.
  std::shared_ptr<const Pattern> Add(const std::shared_ptr<const Pattern>& pattern, Compiled compiled) {
    std::lock_guard lock(mutex_);
    std::weak_ptr<const Pattern>& slot = known_[pattern->text()];
    if (auto present = slot.lock()) return present;
    slot = pattern;
    Keep(*pattern, std::move(compiled));
    return pattern;
  }

  void Remove(const Pattern& pattern) {
    std::lock_guard lock(mutex_);
    // Another one of this text may have taken the place already.
    if (const auto found = known_.find(pattern.text()); found != known_.end() && found->second.expired()) known_.erase(found);
    if (const auto found = compiled_.find(&pattern); found != compiled_.end()) Drop(found->second);
  }

  /// Null where it cannot be compiled any more, which would take memory that this process does not get.
  std::shared_ptr<const RE2> Program(const Pattern& pattern) {
    {
      std::lock_guard lock(mutex_);
      if (const auto found = compiled_.find(&pattern); found != compiled_.end()) {
        recent_.splice(recent_.begin(), recent_, found->second);
        return found->second->compiled.program;
      }
    }
    auto compiled = Compile(pattern.text());
    if (!compiled) return nullptr;
    std::lock_guard lock(mutex_);
    if (const auto found = compiled_.find(&pattern); found != compiled_.end()) return found->second->compiled.program;
    Keep(pattern, *compiled);
    return compiled->program;
  }

 private:
  struct Entry {
    const Pattern* pattern;
    Compiled compiled;
  };
  void Keep(const Pattern& pattern, Compiled compiled) {
    bytes_ += compiled.bytes_max;
    recent_.push_front({&pattern, std::move(compiled)});
    compiled_[&pattern] = recent_.begin();
    while (bytes_ > Pattern::kCompiledBytesMax && recent_.size() > 1) Drop(std::prev(recent_.end()));
  }
  void Drop(std::list<Entry>::iterator entry) {
    bytes_ -= entry->compiled.bytes_max;
    compiled_.erase(entry->pattern);
    recent_.erase(entry);
  }

  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Pattern>, std::less<>> known_;
  std::list<Entry> recent_;  // first: used last
  std::unordered_map<const Pattern*, std::list<Entry>::iterator> compiled_;
  size_t bytes_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Pattern>> Pattern::Parse(std::string_view text) {
  if (auto known = Patterns::Instance().Find(text)) return known;
  EVENKEEL_ASSIGN(Compiled compiled, Compile(text));
  const std::shared_ptr<const Pattern> made(new Pattern(text));
  return Patterns::Instance().Add(made, std::move(compiled));
}

Pattern::~Pattern() { Patterns::Instance().Remove(*this); }

bool Pattern::Matches(std::string_view text) const {
  const auto program = Patterns::Instance().Program(*this);
  return program != nullptr &&
         program->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

std::vector<std::string_view> Pattern::FindAll(std::string_view text, size_t most) const {
  std::vector<std::string_view> matches;
  const auto program = Patterns::Instance().Program(*this);
  if (program == nullptr) return matches;
  const re2::StringPiece whole(text.data(), text.size());
  size_t begin = 0, last_end = std::string_view::npos;
  re2::StringPiece found;
  while (matches.size() < most && begin <= text.size() &&
         program->Match(whole, begin, text.size(), RE2::UNANCHORED, &found, 1)) {
    const auto at = static_cast<size_t>(found.data() - text.data());
    const size_t end = at + found.size();
    if (!found.empty() || at != last_end) matches.push_back(text.substr(at, found.size()));
    last_end = end;
    begin = end;
    if (!found.empty()) continue;
    // On by a whole character, so that no match begins within one.
    do ++begin;
    while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U);
  }
  return matches;
}

}  // namespace evenkeel::base
