#include "client/client.h"

#include <charconv>
#include <iterator>

namespace evenkeel::client {
namespace {

constexpr int kReadModifyWriteAttempts = 5;

std::optional<uint64_t> ParseVersion(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view ContentTypeOf(PatchType type) {
  switch (type) {
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
    case PatchType::kApply:
      // JSON is YAML; servers before 1.32 know only this name.
      return "application/apply-patch+yaml";
  }
  return "";
}

std::string_view NameOf(WatchEvent::Type type) {
  switch (type) {
    case WatchEvent::Type::kAdded:
      return "ADDED";
    case WatchEvent::Type::kModified:
      return "MODIFIED";
    case WatchEvent::Type::kDeleted:
      return "DELETED";
    case WatchEvent::Type::kBookmark:
      return "BOOKMARK";
  }
  return "";
}

bool IsInitialEnd(const WatchEvent& event) {
  return event.type == WatchEvent::Type::kBookmark &&
         base::FindString(event.object, {"metadata", "annotations", "k8s.io/initial-events-end"}) == "true";
}

bool IsOlderVersion(std::string_view a, std::string_view b) {
  const auto left = ParseVersion(a);
  const auto right = ParseVersion(b);
  return left && right && *left < *right;
}

Result<ListPage> ListAll(Client& client, const Resource& resource, ListOptions options) {
  if (options.limit == 0) options.limit = kListPageSize;
  const ListOptions first = options;
  ListPage all;
  for (bool restarted = false;;) {
    auto page = client.List(resource, options);
    if (!page) {
      if (page.error().code() != base::Code::kExpired || options.continue_token.empty() || restarted) return page;
      restarted = true;
      options = first;
      all = {};
      continue;
    }
    std::move(page->items.begin(), page->items.end(), std::back_inserter(all.items));
    all.resource_version = page->resource_version;
    if (page->continue_token.empty()) return all;
    // The token names the revision already; servers refuse both.
    options.continue_token = page->continue_token;
    options.resource_version.clear();
    options.resource_version_match.clear();
  }
}

Result<Json> ReadModifyWrite(Client& client, const Resource& resource, std::string_view ns, std::string_view name,
                             const std::function<Result<bool>(Json&)>& change, const WriteOptions& options) {
  for (int attempt = 1;; ++attempt) {
    EVENKEEL_ASSIGN(Json object, client.Get(resource, ns, name, options.subresource == "scale" ? "scale" : ""));
    EVENKEEL_ASSIGN(const bool changed, change(object));
    if (!changed) return object;
    auto written = client.Update(resource, object, options);
    if (written || written.error().code() != base::Code::kConflict || attempt == kReadModifyWriteAttempts) return written;
  }
}

}  // namespace evenkeel::client
