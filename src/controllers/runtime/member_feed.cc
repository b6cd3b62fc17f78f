#include "controllers/runtime/member_feed.h"

#include <algorithm>

#include "scheduling/reservations.h"

namespace evenkeel::controllers::runtime {
namespace {

using base::Json;

const ReadKind& PlanDefinition() {
  static const ReadKind kind{kube::resources::CustomResourceDefinitions(), "",
                             std::string("metadata.name=") + scheduling::kPlanDefinition};
  return kind;
}

/// A member's role that was made before devices were read does not name these kinds. With such a role there are none: pods
/// that claim devices fit nowhere and stay where they are, and everything else goes on.
bool RoleMayBeOlder(const ReadKind& kind) { return kind.resource.group == "resource.k8s.io"; }

bool SameSelection(const ReadKind& a, const ReadKind& b) {
  return a.resource.kind == b.resource.kind && a.resource.group == b.resource.group && a.ns == b.ns &&
         a.field_selector == b.field_selector;
}

}  // namespace

std::vector<ReadKind> SnapshotReadKinds() {
  std::vector<ReadKind> kinds;
  for (const scheduling::SnapshotKind& kind : scheduling::SnapshotKinds())
    kinds.push_back({kind.resource, "", kind.field_selector});
  return kinds;
}

MemberFeed::MemberFeed(client::Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random)
    : client_(client), strand_(std::move(strand)), clock_(clock), random_(std::move(random)) {}

void MemberFeed::Read(std::span<const ReadKind> kinds) {
  for (const ReadKind& kind : kinds) {
    if (Find(kind) != nullptr) continue;
    auto stream = std::make_unique<Stream>();
    stream->kind = kind;
    stream->informer = Make(kind, kind.resource, kind.resource.plural + kind.ns + kind.field_selector);
    streams_.push_back(std::move(stream));
  }
}

void MemberFeed::ReadPlans() {
  if (plans_ != nullptr) return;
  Read({&PlanDefinition(), 1});
  plans_ = std::make_unique<DefinedKind>(client_, scheduling::BalancingPlans(), strand_, clock_, random_.Fork("plans"),
                                         [this](const std::string& key, const Json* after) {
                                           after == nullptr ? mirror_.Remove(scheduling::BalancingPlans().kind, key)
                                                            : mirror_.Upsert(*after);
                                         });
}

std::unique_ptr<MemberFeed::Informer> MemberFeed::Make(const ReadKind& kind, const kube::Resource& resource,
                                                       const std::string& stream) {
  client::InformerOptions options{.ns = kind.ns, .field_selector = kind.field_selector, .name_kind = true};
  auto made = std::make_unique<Informer>(client_, resource, std::move(options), strand_, clock_, random_.Fork(stream));
  const bool definitions = resource.kind == PlanDefinition().resource.kind;
  made->AddRawHandler([this, kind = resource.kind, definitions](const std::string& key, const Json* after) {
    if (definitions && plans_ != nullptr) plans_->OnDefinition(key, after);
    // A replica that only owns the member needs no snapshot of it.
    if (!mirror_.has_listeners()) return;
    after == nullptr ? mirror_.Remove(kind, key) : mirror_.Upsert(*after);
  });
  return made;
}

void MemberFeed::Start() {
  for (const auto& stream : streams_) stream->informer->Start();
}

MemberFeed::Stream* MemberFeed::Find(const ReadKind& kind) const {
  const auto found = std::ranges::find_if(streams_, [&](const auto& stream) { return SameSelection(stream->kind, kind); });
  return found == streams_.end() ? nullptr : found->get();
}

bool MemberFeed::NotServed(const Informer& informer) {
  const auto error = informer.last_error();
  return error && error->code() == base::Code::kNotFound;
}

bool MemberFeed::Listed(const Stream& stream) {
  if (stream.informer->synced()) return true;
  const auto error = stream.informer->last_error();
  if (error && error->code() == base::Code::kForbidden && RoleMayBeOlder(stream.kind)) return true;
  if (!NotServed(*stream.informer)) return false;
  if (!stream.kind.older) return true;
  return stream.older != nullptr && (stream.older->synced() || NotServed(*stream.older));
}

bool MemberFeed::Synced(std::span<const ReadKind> kinds) const {
  return std::ranges::all_of(kinds, [this](const ReadKind& kind) { return Find(kind)->informer->synced(); });
}

void MemberFeed::BeginOlder(Stream& stream) {
  if (!stream.kind.older || stream.older != nullptr || stream.informer->synced() || !NotServed(*stream.informer)) return;
  stream.older = Make(stream.kind, *stream.kind.older, stream.kind.older->plural + "." + stream.kind.older->version);
  stream.older->Start();
}

bool MemberFeed::Listed(std::span<const ReadKind> kinds) const {
  return std::ranges::all_of(kinds, [this](const ReadKind& kind) { return Listed(*Find(kind)); });
}

std::string MemberFeed::Missing(std::span<const ReadKind> kinds) {
  std::string text;
  for (const ReadKind& kind : kinds) {
    Stream& stream = *Find(kind);
    BeginOlder(stream);
    if (Listed(stream)) continue;
    text += (text.empty() ? "" : ", ") + kind.resource.kind;
    if (const auto error = stream.informer->last_error()) text += " (" + error->message() + ")";
  }
  return text;
}

std::string MemberFeed::MissingPlans() {
  const Stream& definition = *Find(PlanDefinition());
  if (!definition.informer->synced()) {
    const auto error = definition.informer->last_error();
    // Who may read plans but not their definition sees them all the same, if later.
    if (error && error->code() == base::Code::kForbidden) plans_->Begin();
    if (plans_->objects() == nullptr && !NotServed(*definition.informer)) return Missing({&PlanDefinition(), 1});
  }
  if (plans_->synced()) return "";
  const auto error = plans_->objects()->last_error();
  // The definition has gone again, or was never there.
  if (error && error->code() == base::Code::kNotFound) return "";
  return scheduling::BalancingPlans().kind + (error ? " (" + error->message() + ")" : "");
}

std::string_view MemberFeed::UidOf(const ReadKind& kind, const std::string& key) const {
  const Stream& stream = *Find(kind);
  auto found = stream.informer->Get(key);
  if (found == nullptr && stream.older != nullptr) found = stream.older->Get(key);
  return found == nullptr ? std::string_view() : std::string_view(found->meta.uid);
}

size_t MemberFeed::Count(const ReadKind& kind) const { return Find(kind)->informer->items().size(); }

std::optional<base::Error> MemberFeed::LastError(std::span<const ReadKind> kinds) const {
  for (const ReadKind& kind : kinds) {
    if (auto error = Find(kind)->informer->last_error()) return error;
  }
  return std::nullopt;
}

}  // namespace evenkeel::controllers::runtime
