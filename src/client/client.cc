#include "client/client.h"

#include <iterator>
#include <utility>

#include "base/parse_number.h"

namespace evenkeel::client {
namespace {

constexpr int kReadModifyWriteAttempts = 5;

Status TooMuch(const std::string& what) { return base::Fail(base::Code::kTooLarge, "answers too much: " + what); }

/// Reads page after page, and once all again from the first when the token expires in between: then `restart` is called.
Status ReadPages(const ListLimits& limits, ListOptions options, const std::function<Result<ListPage>(const ListOptions&)>& read,
                 const std::function<void(ListPage)>& use, const std::function<void()>& restart) {
  if (options.limit == 0) options.limit = kListPageSize;
  const ListOptions first = options;
  ListBudget budget(limits);
  for (bool restarted = false;;) {
    auto page = read(options);
    if (!page) {
      const bool expired = page.error().code() == base::Code::kExpired && !options.continue_token.empty();
      if (!expired || restarted) return base::Fail(page.error());
      restarted = true;
      options = first;
      budget.Reset();
      restart();
      continue;
    }
    EVENKEEL_TRY(budget.Add(page->items.size(), page->bytes, page->continue_token));
    // The token names the revision already; servers refuse both.
    options.continue_token = page->continue_token;
    options.resource_version.clear();
    options.resource_version_match.clear();
    use(*std::move(page));
    if (options.continue_token.empty()) return {};
  }
}

}  // namespace

Status CheckSize(const ListLimits& limits, const ListSize& size) {
  if (size.objects > limits.objects) return TooMuch("a list of more than " + std::to_string(limits.objects) + " objects");
  if (size.bytes > limits.bytes) return TooMuch("a list of more than " + std::to_string(limits.bytes >> 20) + " MiB");
  return {};
}

Status ListBudget::Add(size_t objects, size_t bytes, std::string_view continue_token) {
  if (!continue_token.empty()) ++pages_;
  size_.objects += objects;
  size_.bytes += bytes;
  if (!continue_token.empty() && continue_token == continue_token_) return TooMuch("a page of a list names itself as the next");
  continue_token_ = continue_token;
  if (pages_ > limits_.pages) return TooMuch("a list of more than " + std::to_string(limits_.pages) + " pages");
  return CheckSize(limits_, size_);
}

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
  const auto left = base::ParseNumber<uint64_t>(a);
  const auto right = base::ParseNumber<uint64_t>(b);
  return left && right && *left < *right;
}

Result<ListPage> Client::Visit(const Resource& resource, const ListOptions& options, const ObjectVisitor& visit) {
  EVENKEEL_ASSIGN(ListPage page, List(resource, options));
  for (const Json& item : page.items) visit(item);
  page.items.clear();
  return page;
}

Result<ListPage> ListAll(Client& client, const Resource& resource, ListOptions options) {
  ListPage all;
  EVENKEEL_TRY(ReadPages(
      client.Limits(), std::move(options), [&](const ListOptions& next) { return client.List(resource, next); },
      [&](ListPage page) {
        std::ranges::move(page.items, std::back_inserter(all.items));
        all.resource_version = std::move(page.resource_version);
      },
      [&] { all = {}; }));
  return all;
}

Status VisitAll(Client& client, const Resource& resource, const ObjectVisitor& visit, ListOptions options) {
  return ReadPages(
      client.Limits(), std::move(options), [&](const ListOptions& next) { return client.Visit(resource, next, visit); },
      [](const ListPage&) {}, [] {});
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
