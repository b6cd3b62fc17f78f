// A text of which very many copies are kept: equal ones share their bytes, and a copy takes as much as a pointer. For what
// hundreds of thousands of objects say alike ("default-scheduler", the uid of a ReplicaSet), not for names of their own.
#pragma once

#include <concepts>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace evenkeel::base {

/// Thread-safe as std::string is; that bytes are shared between threads does not matter to them.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string_view text) : entry_(Intern(text)) {}                  // NOLINT(google-explicit-constructor): a text
  SharedText(const std::string& text) : SharedText(std::string_view(text)) {}  // NOLINT(google-explicit-constructor): as above
  SharedText(const char* text) : SharedText(std::string_view(text)) {}         // NOLINT(google-explicit-constructor): as above
  SharedText(const SharedText& other) : entry_(Keep(other.entry_)) {}
  SharedText(SharedText&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept { return std::swap(entry_, other.entry_), *this; }
  ~SharedText() { Release(entry_); }

  bool empty() const { return entry_ == nullptr; }
  const std::string& text() const;
  operator const std::string&() const { return text(); }  // NOLINT(google-explicit-constructor): it is one
  operator std::string_view() const { return text(); }    // NOLINT(google-explicit-constructor): as above

  /// Of the pointer: does not look at the bytes.
  struct Hash {
    size_t operator()(const SharedText& text) const { return std::hash<const void*>()(text.entry_); }
  };

  friend bool operator==(const SharedText& a, const SharedText& b) { return a.entry_ == b.entry_; }
  friend bool operator==(const SharedText& a, std::string_view b) { return a.text() == b; }
  friend bool operator==(const SharedText& a, const std::string& b) { return a.text() == b; }
  friend bool operator==(const SharedText& a, const char* b) { return a.text() == b; }
  template <std::convertible_to<std::string_view> Text>
  friend std::string operator+(const SharedText& a, const Text& b) {
    return std::string(a.text()).append(std::string_view(b));
  }
  template <std::convertible_to<std::string_view> Text>
    requires(!std::same_as<Text, SharedText>)
  friend std::string operator+(const Text& a, const SharedText& b) {
    return std::string(std::string_view(a)).append(b.text());
  }
  friend std::ostream& operator<<(std::ostream& stream, const SharedText& text) { return stream << text.text(); }

 private:
  struct Entry;
  struct Pool;

  /// Null for "".
  static Entry* Intern(std::string_view text);
  static Entry* Keep(Entry* entry);
  static void Release(Entry* entry);

  Entry* entry_ = nullptr;
};

}  // namespace evenkeel::base
