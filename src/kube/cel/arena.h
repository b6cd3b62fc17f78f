// Where the values of one evaluation live: they go all together, so none of them is counted or destroyed by itself.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace evenkeel::kube::cel {

/// Memory that is let go as a whole. An evaluation that wants more than `bytes_max` is ended with an error; see exhausted().
/// Not thread-safe.
class Arena {
 public:
  static constexpr size_t kBytesMax = size_t{64} << 20;

  explicit Arena(size_t bytes_max = kBytesMax) : bytes_max_(bytes_max) { Reset(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Forgets all that was made in it.
  void Reset() {
    chunks_.clear();
    next_ = first_;
    end_ = first_ + sizeof first_;
    bytes_ = 0;
  }

  void* Allocate(size_t bytes) {
    bytes = (bytes + kAlign - 1) & ~(kAlign - 1);
    if (bytes > static_cast<size_t>(end_ - next_)) Grow(bytes);
    void* const result = next_;
    next_ += bytes;
    return result;
  }
  template <typename T, typename... Arguments>
  T* New(Arguments&&... arguments) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlign);
    return new (Allocate(sizeof(T))) T(std::forward<Arguments>(arguments)...);
  }
  template <typename T>
  std::span<T> NewArray(size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kAlign);
    T* const items = static_cast<T*>(Allocate(count * sizeof(T)));
    for (size_t i = 0; i < count; ++i) new (items + i) T();
    return {items, count};
  }
  std::string_view Copy(std::string_view text) {
    if (text.empty()) return {};
    void* const bytes = Allocate(text.size());
    std::memcpy(bytes, text.data(), text.size());
    return {static_cast<const char*>(bytes), text.size()};
  }

  /// Whether more was asked for than may be; whoever makes many or large values looks at it.
  bool exhausted() const { return bytes_ > bytes_max_; }
  /// Whether so much would be too much: asked before something is made whose size comes from outside.
  bool TooMuch(size_t bytes) const { return bytes > bytes_max_ || bytes_ > bytes_max_ - bytes; }

 private:
  static constexpr size_t kAlign = 16;
  static constexpr size_t kChunk = size_t{16} << 10;

  void Grow(size_t bytes) {
    const size_t size = bytes > kChunk ? bytes : kChunk;
    bytes_ += size;
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    next_ = chunks_.back().get();
    end_ = next_ + size;
  }

  size_t bytes_max_;
  size_t bytes_ = 0;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  alignas(kAlign) std::byte first_[2048];
};

}  // namespace evenkeel::kube::cel
