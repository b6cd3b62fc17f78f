#include "base/time_zone.h"

#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace evenkeel::base {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;
constexpr size_t kZonesMax = 1'000;  // the database has some 600 names

/// RFC 9636: from when on which offset holds.
struct ZoneRules {
  std::chrono::seconds first{};
  std::vector<std::pair<int64_t, std::chrono::seconds>> changes;
};

class ZoneReader {
 public:
  explicit ZoneReader(std::string bytes) : bytes_(std::move(bytes)) {}

  /// The second block, which has 64 bits for an instant; nothing where the file is damaged.
  std::optional<ZoneRules> Read() {
    if (!Header()) return std::nullopt;
    at_ += transitions_ * 5 + types_ * 6 + letters_ + leaps_ * 8 + standard_ + universal_;
    if (!Header() || types_ == 0) return std::nullopt;
    const size_t indices = at_ + transitions_ * 8;
    const size_t types = indices + transitions_;
    if (types + types_ * 6 > bytes_.size()) return std::nullopt;
    const auto offset = [&](size_t type) { return std::chrono::seconds(static_cast<int32_t>(Number(types + type * 6, 4))); };
    ZoneRules rules{.first = offset(0), .changes = {}};
    for (size_t i = 0; i < transitions_; ++i) {
      const auto type = static_cast<size_t>(Number(indices + i, 1));
      if (type >= types_) return std::nullopt;
      rules.changes.emplace_back(static_cast<int64_t>(Number(at_ + i * 8, 8)), offset(type));
    }
    return rules;
  }

 private:
  bool Header() {
    constexpr size_t kHeader = 44;
    if (at_ > bytes_.size() || bytes_.size() - at_ < kHeader || bytes_.compare(at_, 4, "TZif") != 0) return false;
    universal_ = Count(0), standard_ = Count(1), leaps_ = Count(2), transitions_ = Count(3), types_ = Count(4),
    letters_ = Count(5);
    at_ += kHeader;
    return true;
  }
  size_t Count(size_t which) const { return static_cast<size_t>(Number(at_ + 20 + which * 4, 4) & 0xFFFFF); }
  uint64_t Number(size_t at, size_t size) const {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes_[at + i]);
    return value;
  }

  std::string bytes_;
  size_t at_ = 0;
  size_t universal_ = 0, standard_ = 0, leaps_ = 0, transitions_ = 0, types_ = 0, letters_ = 0;
};

bool IsZoneName(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/";
  return !name.empty() && name.size() <= 64 && name.find_first_not_of(kLetters) == std::string_view::npos && name[0] != '/';
}

std::optional<ZoneRules> LoadZone(std::string_view name) {
  std::ifstream file("/usr/share/zoneinfo/" + std::string(name), std::ios::binary);
  std::string bytes(kFileBytesMax, '\0');
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) && !file.eof()) return std::nullopt;
  bytes.resize(static_cast<size_t>(file.gcount()));
  return ZoneReader(std::move(bytes)).Read();
}

const ZoneRules* FindZone(std::string_view name) {
  static std::mutex mutex;
  static auto* const zones = new std::map<std::string, std::unique_ptr<const ZoneRules>, std::less<>>();
  if (!IsZoneName(name)) return nullptr;
  std::lock_guard lock(mutex);
  if (const auto found = zones->find(name); found != zones->end()) return found->second.get();
  auto rules = LoadZone(name);
  if (!rules || zones->size() >= kZonesMax) return nullptr;
  return zones->emplace(name, std::make_unique<const ZoneRules>(*std::move(rules))).first->second.get();
}

}  // namespace

std::optional<std::chrono::seconds> ZoneOffset(std::string_view zone, std::chrono::sys_seconds at) {
  const ZoneRules* const rules = FindZone(zone);
  if (rules == nullptr) return std::nullopt;
  const int64_t instant = at.time_since_epoch().count();
  const auto after = std::upper_bound(rules->changes.begin(), rules->changes.end(), instant,
                                      [](int64_t value, const auto& change) { return value < change.first; });
  return after == rules->changes.begin() ? rules->first : std::prev(after)->second;
}

}  // namespace evenkeel::base
