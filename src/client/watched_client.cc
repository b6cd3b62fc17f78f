#include "client/watched_client.h"

namespace evenkeel::client {
namespace {

/// How soon a first list that brings nothing is noticed: an empty one calls no handler.
constexpr base::Duration kLookAgain = 50ms;

Result<Json> ReadsOnly() { return base::Fail(base::Code::kForbidden, "this client only reads"); }

}  // namespace

WatchedClient::WatchedClient(Client& next, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random,
                             std::function<void()> changed)
    : ForwardingClient(next),
      strand_(std::move(strand)),
      clock_(clock),
      random_(std::move(random)),
      changed_(std::move(changed)) {}

Result<const WatchedClient::Copy*> WatchedClient::CopyOf(const Resource& resource, InformerOptions options) {
  auto& copy = copies_[{resource.QualifiedPlural(), options.ns, options.label_selector, options.field_selector}];
  if (copy == nullptr) {
    copy = std::make_unique<Copy>(next(), resource, options, strand_, clock_, random_.Fork(resource.QualifiedPlural()));
    copy->AddHandler([this](const auto&, const auto&) { changed_(); });
    copy->Start();
  }
  if (copy->synced()) return copy.get();
  if (const auto error = copy->last_error()) return base::Fail(*error);
  waits_ = true;
  look_again_ = strand_->PostAfter(kLookAgain, [this] { changed_(); });
  return base::Fail(base::Code::kUnavailable, resource.QualifiedPlural() + " of " + Describe() + ": not read yet");
}

std::optional<base::Error> WatchedClient::Outage() const {
  for (const auto& [which, copy] : copies_) {
    const ReflectorHealth health = copy->health();
    // What was never read is told to whoever asks for it, who may do without: not every API serves every kind.
    if (!health.synced || !health.failing_since || clock_.Monotonic() - *health.failing_since < kOutage) continue;
    return health.last_error->Wrap(std::get<0>(which) + " of " + Describe());
  }
  return std::nullopt;
}

Result<Json> WatchedClient::Get(const Resource& resource, std::string_view ns, std::string_view name, std::string_view) {
  InformerOptions options;
  options.ns = ns;
  options.field_selector = "metadata.name=" + std::string(name);
  EVENKEEL_ASSIGN(const Copy* copy, CopyOf(resource, std::move(options)));
  for (const auto& [key, object] : copy->items()) {
    if (object->meta.name == name) return *object->json;
  }
  return base::Fail(base::Code::kNotFound, resource.QualifiedPlural() + " \"" + std::string(name) + "\" not found");
}

Result<ListPage> WatchedClient::List(const Resource& resource, const ListOptions& options) {
  InformerOptions which;
  which.ns = options.ns;
  which.label_selector = options.label_selector;
  which.field_selector = options.field_selector;
  EVENKEEL_ASSIGN(const Copy* copy, CopyOf(resource, std::move(which)));
  ListPage page;
  for (const auto& [key, object] : copy->items()) page.items.push_back(*object->json);
  return page;
}

Result<Json> WatchedClient::Create(const Resource&, const Json&, const WriteOptions&) { return ReadsOnly(); }
Result<Json> WatchedClient::Update(const Resource&, const Json&, const WriteOptions&) { return ReadsOnly(); }
Result<Json> WatchedClient::Patch(const Resource&, std::string_view, std::string_view, PatchType, const Json&,
                                  const PatchOptions&) {
  return ReadsOnly();
}
Result<Json> WatchedClient::Delete(const Resource&, std::string_view, std::string_view, const DeleteOptions&) {
  return ReadsOnly();
}
Result<Json> WatchedClient::Post(const Resource&, std::string_view, std::string_view, std::string_view, const Json&) {
  return ReadsOnly();
}

}  // namespace evenkeel::client
