// Get, list and watch.
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/objects/list_options.h"
#include "embedded/apiserver/objects/scale.h"
#include "embedded/apiserver/requests/continue_token.h"
#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

// One page is cut from the store in pieces of this size when a selector passes over most of what it sees.
constexpr size_t kScanBatch = 2'000;

base::Error ExpiredError(std::string_view requested, store::Revision oldest) {
  return {Code::kExpired, "too old resource version: " + std::string(requested) + " (" + std::to_string(oldest) + ")"};
}

Result<store::Revision> ParseRevision(const std::string& text) {
  if (text.empty()) return 0;
  store::Revision revision = 0;
  for (const char letter : text) {
    if (letter < '0' || letter > '9' || revision > (int64_t{1} << 58)) {
      return Fail(Code::kBadRequest, "Invalid value: \"" + text + "\": resourceVersion must be a non-negative integer");
    }
    revision = revision * 10 + (letter - '0');
  }
  return revision;
}

// Where a list begins: a revision (0: now) and the key after which it goes on.
struct ListStart {
  store::Revision revision = 0;
  std::string after;
};

Result<ListStart> StartOf(const ListQuery& query, const std::string& prefix) {
  ListStart start;
  if (!query.continue_token.empty()) {
    if (!query.resource_version.empty() && query.resource_version != "0") {
      return Fail(Code::kBadRequest, "specifying resource version is not allowed when using continue");
    }
    EVENKEEL_ASSIGN(const ContinueToken token, ContinueToken::Decode(query.continue_token));
    start.revision = token.revision;
    start.after = prefix + token.after;
    return start;
  }
  EVENKEEL_ASSIGN(const store::Revision revision, ParseRevision(query.resource_version));
  // What is there now is not older than anything asked for.
  if (query.resource_version_match == "Exact") start.revision = revision;
  return start;
}

base::Error FutureError(const std::string& requested, store::Revision current) {
  return {Code::kTimeout,
          "Too large resource version: " + requested + ", current: " + std::to_string(current),
          {.name = {},
           .group = {},
           .kind = {},
           .uid = {},
           .causes = {{.reason = "ResourceVersionTooLarge", .message = "Too large resource version", .field = ""}},
           .retry_after_seconds = 1}};
}

// The first time that all objects of a custom kind are read since its schema changed, or since this process began: which of
// them the schema concerns, so that the others are copied without a look from then on.
void Survey(const Served& served, const store::ListResult& all) {
  if (!served.custom || served.conversion != nullptr || !served.has_storage_form || !served.storage_form->TakeSurvey()) return;
  store::Revision last = 0;
  for (const store::KeyValue& item : all.items) {
    if (item.mod_revision <= last) continue;
    const auto object = DecodeObject(served, {item.value, item.mod_revision});
    if (!object || EncodeStored(*object, served) != *item.value) last = item.mod_revision;
  }
  served.storage_form->SetSurvey(all.revision, last);
}

}  // namespace

base::JsonObject ListMetadata(const ListAnswer& answer) {
  base::JsonObject metadata{{"resourceVersion", std::to_string(answer.revision)}};
  if (!answer.continue_token.empty()) metadata["continue"] = answer.continue_token;
  if (answer.remaining && !answer.continue_token.empty()) metadata["remainingItemCount"] = *answer.remaining;
  return metadata;
}

Result<Stored> Api::Get(const Call& call) {
  auto found = options_.store->Get(call.served->Key(call.ns, call.name));
  if (!found) {
    if (found.error().code() == Code::kNotFound) return Fail(NotFoundError(call.served->resource, call.name));
    return Fail(found.error());
  }
  Stored stored{std::move(found->value), found->mod_revision};
  EVENKEEL_TRY(ConvertRows(*call.served, std::span(&stored, 1), false));
  return stored;
}

Result<Json> Api::GetScale(const Call& call) {
  EVENKEEL_ASSIGN(const Stored stored, Get(call));
  EVENKEEL_ASSIGN(const Json object, DecodeObject(*call.served, stored));
  const base::Json* replicas = FindDotted(object, call.served->spec_replicas);
  if (call.served->custom && (replicas == nullptr || replicas->is_null())) {
    return Fail(Code::kInternal,
                "Internal error occurred: the spec replicas field \"." + call.served->spec_replicas + "\" does not exist");
  }
  return ScaleOf(*call.served, object);
}

Result<ListAnswer> Api::List(const Call& call, const ListQuery& query) {
  const Served& served = *call.served;
  EVENKEEL_ASSIGN(const Selection selection, Selection::Parse(call.served, query.label_selector, query.field_selector));
  if (query.limit < 0) return Fail(Code::kBadRequest, "limit: Invalid value: " + std::to_string(query.limit));
  EVENKEEL_TRY(CheckListOptions(query));
  const std::string prefix = served.Prefix(call.ns);
  EVENKEEL_ASSIGN(ListStart start, StartOf(query, prefix));
  if (!query.resource_version.empty() && query.resource_version != "0") {
    EVENKEEL_ASSIGN(const store::Revision wanted, ParseRevision(query.resource_version));
    const store::Revision current = options_.store->current_revision();
    if (wanted > current) return Fail(FutureError(query.resource_version, current));
  }
  const size_t limit = static_cast<size_t>(query.limit);
  ListAnswer answer;
  while (true) {
    store::ListOptions options{.prefix = prefix, .start_after = start.after, .limit = 0, .revision = start.revision};
    if (limit > 0) options.limit = selection.everything() ? limit : std::max(limit, kScanBatch);
    auto page = options_.store->List(options);
    if (!page) {
      if (page.error().code() != Code::kExpired) return Fail(page.error());
      if (query.continue_token.empty()) return Fail(ExpiredError(query.resource_version, options_.store->compacted_revision()));
      return Fail(Code::kExpired,
                  "The provided continue parameter is too old to display a consistent list result. You can start a new "
                  "list without the continue parameter.");
    }
    answer.revision = page->revision;
    start.revision = page->revision;
    if (prefix == served.prefix && !page->more && options.start_after.empty() && options.revision == 0) Survey(served, *page);
    std::vector<Stored> rows;
    rows.reserve(page->items.size());
    for (store::KeyValue& item : page->items) rows.push_back({std::move(item.value), item.mod_revision});
    EVENKEEL_TRY(ConvertRows(served, rows, true));
    if (limit == 0) answer.items.reserve(page->items.size());
    for (size_t i = 0; i < page->items.size(); ++i) {
      const store::KeyValue& item = page->items[i];
      Stored& stored = rows[i];
      if (!selection.everything() && !selection.Matches(stored)) continue;
      answer.items.push_back(std::move(stored));
      const bool more = i + 1 < page->items.size() || page->more;
      if (limit == 0 || answer.items.size() < limit || !more) continue;
      answer.continue_token = ContinueToken{page->revision, item.key.substr(prefix.size())}.Encode();
      if (selection.everything()) answer.remaining = static_cast<int64_t>(page->remaining + page->items.size() - i - 1);
      return answer;
    }
    if (!page->more || page->items.empty()) return answer;
    start.after = page->items.back().key;
  }
}

Result<std::unique_ptr<store::Watch>> Api::Watch(const Call& call, const WatchQuery& query, EventHandler handler) {
  EVENKEEL_ASSIGN(Selection parsed, Selection::Parse(call.served, query.label_selector, query.field_selector));
  EVENKEEL_ASSIGN(store::Revision after, ParseRevision(query.resource_version));
  const auto selection = std::make_shared<const Selection>(std::move(parsed));
  if (after > 0 && after > options_.store->current_revision()) {
    return Fail(FutureError(query.resource_version, options_.store->current_revision()));
  }
  std::string prefix = call.served->Prefix(call.ns);
  // A watch of one object: the store then visits only it. Names that begin with it are sorted out by the selection.
  if (!selection->only_name().empty() && (!call.served->resource.namespaced || !call.ns.empty()))
    prefix += selection->only_name();
  if (query.send_initial_events.value_or(after == 0)) {
    EVENKEEL_ASSIGN(const auto list, options_.store->List({.prefix = prefix, .start_after = {}}));
    after = list.revision;
    std::vector<Stored> rows;
    for (const store::KeyValue& item : list.items) rows.push_back({item.value, item.mod_revision});
    EVENKEEL_TRY(ConvertRows(*call.served, rows, true));
    for (size_t i = 0; i < rows.size(); ++i) {
      const store::KeyValue& item = list.items[i];
      const store::Event event{
          .type = store::Event::Type::kPut, .current = item, .previous = nullptr, .revision = item.mod_revision};
      const auto shared = std::make_shared<SharedEvent>(event, rows[i], Stored());
      if (selection->MatchesNow(*shared)) handler(EventType::kAdded, shared, item.mod_revision, nullptr);
    }
    handler(EventType::kInitialEnd, nullptr, after, nullptr);
  } else if (after == 0) {
    after = options_.store->current_revision();
    handler(EventType::kProgress, nullptr, after, nullptr);
  }
  const EventTeller tell = [selection, handler](const store::Event& event, const std::shared_ptr<SharedEvent>& shared) {
    const bool progress = event.type == store::Event::Type::kProgress;
    const bool before = !progress && selection->MatchedBefore(*shared);
    const bool now = !progress && !shared->deleted() && selection->MatchesNow(*shared);
    if (!before && !now) return handler(EventType::kProgress, nullptr, event.revision, nullptr);
    const EventType type = !now ? EventType::kDeleted : (before ? EventType::kModified : EventType::kAdded);
    handler(type, shared, event.revision, nullptr);
  };
  EventHandler last = [this, handler, requested = query.resource_version](EventType type, const auto& event,
                                                                          store::Revision revision, const base::Error* error) {
    if (error->code() != Code::kExpired) return handler(type, event, revision, error);
    const base::Error expired = ExpiredError(requested, options_.store->compacted_revision());
    handler(type, event, revision, &expired);
  };
  auto watch = call.served->conversion != nullptr
                   ? WatchConverted(call.served, std::move(prefix), after, tell, std::move(last))
                   : options_.store->NewWatch(
                         std::move(prefix), after,
                         [this, tell, last = std::move(last)](std::vector<store::Event> batch, const base::Error* error) {
                           for (const store::Event& event : batch) {
                             const bool progress = event.type == store::Event::Type::kProgress;
                             tell(event, progress ? nullptr : events_.Share(event, options_.clock->Monotonic()));
                           }
                           if (error != nullptr) last(EventType::kProgress, nullptr, 0, error);
                         });
  if (!watch && watch.error().code() == Code::kExpired) {
    return Fail(ExpiredError(query.resource_version, options_.store->compacted_revision()));
  }
  return watch;
}

}  // namespace evenkeel::embedded::apiserver
