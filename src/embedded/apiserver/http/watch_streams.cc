#include "embedded/apiserver/http/watch_streams.h"

#include "embedded/apiserver/objects/list_options.h"
#include "embedded/apiserver/objects/protobuf_answer.h"
#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr base::Duration kTickInterval = std::chrono::seconds(1);

std::string_view TypeName(EventType type) {
  switch (type) {
    case EventType::kAdded:
      return "ADDED";
    case EventType::kModified:
      return "MODIFIED";
    case EventType::kDeleted:
      return "DELETED";
    case EventType::kProgress:
    case EventType::kInitialEnd:
      return "BOOKMARK";
  }
  return "";
}

// One event, whose object is this JSON text.
std::string EventText(std::string_view type, std::string object, Encoding encoding) {
  if (encoding != Encoding::kProtobuf) return "{\"type\":\"" + std::string(type) + "\",\"object\":" + object + "}\n";
  auto bytes = ProtobufEnvelopeOf(object);
  if (bytes) return ProtobufEventFrame(type, *bytes);
  // An object that cannot be read is news that cannot be told.
  return ProtobufEventFrame("ERROR", ProtobufEnvelopeOf(base::ToText(StatusOf(bytes.error()))).value());
}

std::string Line(EventType type, const Served& served, const Stored& stored, const WatchForm& form, base::Time now) {
  switch (form.form) {
    case Form::kTable:
      return EventText(TypeName(type),
                       TableText(served, {stored}, {{"resourceVersion", std::to_string(stored.revision)}}, form.table, now),
                       form.encoding);
    case Form::kPartial:
      return EventText(TypeName(type), PartialText(served, stored, form.table.version), form.encoding);
    default:
      return EventText(TypeName(type), ObjectText(served, stored), form.encoding);
  }
}

// Of the watched kind, with nothing but its metadata, in whichever form the events have.
std::string BookmarkLine(EventType type, const Served& served, store::Revision revision, WatchForm form, base::Time now) {
  base::JsonObject metadata{{"creationTimestamp", nullptr}};
  if (type == EventType::kInitialEnd) {
    metadata["annotations"] = base::JsonObject{{"k8s.io/initial-events-end", "true"}};
    // It is told by its metadata.
    if (form.table.include == IncludeObject::kNone) form.table.include = IncludeObject::kMetadata;
  }
  const Json object = base::JsonObject{
      {"kind", served.resource.kind}, {"apiVersion", served.resource.ApiVersion()}, {"metadata", std::move(metadata)}};
  const Stored stored{std::make_shared<const std::string>(EncodeStored(object, served)), revision};
  return Line(type, served, stored, form, now);
}

// A definition that is being deleted still has the objects whose end is to be told.
bool IsServedAsBefore(const ResourceTable& table, const Served& served) {
  if (!served.custom) return true;
  const ServedPointer now = table.Find(served.resource.group, served.resource.version, served.resource.plural);
  return now != nullptr && (now->terminating || now->defined_at == served.defined_at);
}

}  // namespace

struct WatchStreams::Stream {
  uint64_t id = 0;
  ServedPointer served;
  WatchForm form;
  std::string cache_key;
  bool bookmarks = false;
  std::shared_ptr<ResponseStream> response;
  std::unique_ptr<store::Watch> watch;  // guarded by WatchStreams::mutex_ until the stream is removed
  std::atomic<bool> begun = false;      // what there was when it was asked for has been written
  std::atomic<store::Revision> revision = 0;

  bool Write(Chunk chunk) { return begun ? response->Write(std::move(chunk)) : response->WriteBeginning(std::move(chunk)); }
  base::Instant next_bookmark{}, deadline{};
};

WatchStreams::WatchStreams(Api& api, std::shared_ptr<Metrics> metrics, base::Executor* executor,
                           base::Duration bookmark_interval)
    : api_(api), metrics_(std::move(metrics)), bookmark_interval_(bookmark_interval) {
  if (executor != nullptr) strand_ = executor->NewStrand("watches-" + api.options().name);
}

WatchStreams::~WatchStreams() { Stop(); }

void WatchStreams::Stop() {
  if (strand_ != nullptr) strand_->Close();
  std::map<uint64_t, std::shared_ptr<Stream>> streams;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    timer_.Cancel();
    streams = std::exchange(streams_, {});
  }
  for (auto& [id, stream] : streams) {
    stream->watch.reset();
    stream->response->Close();
  }
}

void WatchStreams::Start(ExchangePointer exchange, const Call& call, const WatchQuery& query, const WatchForm& form,
                         bool bookmarks, base::Duration timeout) {
  // What is wrong with the request is answered as such; once the stream has begun, errors are events.
  if (const auto selection = Selection::Parse(call.served, query.label_selector, query.field_selector); !selection) {
    return exchange->SendError(selection.error());
  }
  if (const auto options = CheckWatchOptions(query); !options) return exchange->SendError(options.error());
  auto stream = std::make_shared<Stream>();
  stream->served = call.served;
  stream->form = form;
  stream->cache_key = call.served->head + std::to_string(static_cast<int>(form.form)) + form.table.version +
                      std::to_string(static_cast<int>(form.table.include)) +
                      (form.encoding == Encoding::kProtobuf ? "protobuf" : "");
  stream->bookmarks = bookmarks;
  stream->response = exchange->StartStream(form.encoding == Encoding::kProtobuf ? std::string(kProtobufType) + ";stream=watch"
                                                                                : "application/json");
  const base::Instant now = api_.options().clock->Monotonic();
  stream->next_bookmark = now + bookmark_interval_;
  stream->deadline = now + timeout;
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return stream->response->Close();
    stream->id = next_id_++;
    streams_.emplace(stream->id, stream);
  }
  metrics_->AddWatches(call.served->resource.plural, 1);
  stream->response->OnClosed(
      [weak = weak_from_this(), id = stream->id, plural = call.served->resource.plural, metrics = metrics_] {
        metrics->AddWatches(plural, -1);
        if (const auto self = weak.lock()) self->Remove(id);
      });
  auto watch = api_.Watch(call, query,
                          [this, stream](EventType type, const std::shared_ptr<SharedEvent>& event, store::Revision revision,
                                         const base::Error* error) { Deliver(stream, type, event, revision, error); });
  if (!watch) {
    Deliver(stream, EventType::kProgress, nullptr, 0, &watch.error());
    return;
  }
  stream->begun = true;
  std::lock_guard lock(mutex_);
  // The other side may have gone while the history was replayed.
  if (!streams_.contains(stream->id)) return;
  stream->watch = *std::move(watch);
  if (strand_ != nullptr && !std::exchange(ticking_, true)) {
    timer_ = strand_->PostAfter(kTickInterval, [this] { Tick(); });
  }
}

void WatchStreams::Deliver(const std::shared_ptr<Stream>& stream, EventType type, const std::shared_ptr<SharedEvent>& event,
                           store::Revision revision, const base::Error* error) {
  if (error != nullptr) {
    stream->response->Write(
        std::make_shared<const std::string>(EventText("ERROR", base::ToText(StatusOf(*error)), stream->form.encoding)));
    stream->response->Close();
    return;
  }
  if (event != nullptr) {
    const bool left = type == EventType::kDeleted && !event->deleted();
    const std::string key = stream->cache_key + (left ? "left" : std::string(TypeName(type)));
    Chunk chunk = event->Encoded(
        key, [&] { return Line(type, *stream->served, left ? event->Left() : event->object(), stream->form, api_.Now()); });
    if (!stream->Write(std::move(chunk))) return;
  }
  if (type == EventType::kInitialEnd && stream->bookmarks) {
    stream->Write(std::make_shared<const std::string>(BookmarkLine(type, *stream->served, revision, stream->form, api_.Now())));
  }
  if (revision > stream->revision) stream->revision = revision;
}

void WatchStreams::Remove(uint64_t id) {
  std::shared_ptr<Stream> stream;
  std::unique_ptr<store::Watch> watch;
  {
    std::lock_guard lock(mutex_);
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    stream = std::move(found->second);
    streams_.erase(found);
    watch = std::move(stream->watch);
  }
}

void WatchStreams::Tick() {
  const base::Instant now = api_.options().clock->Monotonic();
  const uint64_t generation = api_.resources().generation();
  std::vector<std::shared_ptr<Stream>> due, without_kind;
  {
    std::lock_guard lock(mutex_);
    const bool changed = std::exchange(generation_, generation) != generation;
    for (const auto& [id, stream] : streams_) {
      if (changed && !IsServedAsBefore(api_.resources(), *stream->served)) {
        without_kind.push_back(stream);
      } else if (now >= stream->deadline || now >= stream->next_bookmark) {
        due.push_back(stream);
      }
    }
    ticking_ = !streams_.empty();
    if (ticking_) timer_ = strand_->PostAfter(kTickInterval, [this] { Tick(); });
  }
  for (const auto& stream : without_kind) stream->response->Close();
  for (const auto& stream : due) {
    const store::Revision revision = stream->revision;
    if (stream->bookmarks && revision > 0) {
      stream->response->Write(std::make_shared<const std::string>(
          BookmarkLine(EventType::kProgress, *stream->served, revision, stream->form, api_.Now())));
    }
    stream->next_bookmark = now + bookmark_interval_;
    if (now >= stream->deadline) stream->response->Close();
  }
}

}  // namespace evenkeel::embedded::apiserver
