#include "cli/clusters/live_fleet.h"

#include <mutex>

#include "base/log.h"
#include "cli/clusters/hub.h"

namespace evenkeel::cli {
namespace {

using base::Json;

/// Strands that wait for members' APIs.
constexpr int kMemberThreads = 64;
/// Short, as the end waits for it.
constexpr base::Duration kGlanceTimeout = std::chrono::seconds(10);
constexpr base::Duration kGlanceConnectTimeout = std::chrono::seconds(5);
constexpr std::string_view kDataMark = "\ndata: ";
constexpr const char* kFleetDocument = "fleet";
constexpr const char* kMemberDocument = "cluster/";

/// Views show members that cannot be read, too: with what there was of them, if anything.
bool IsUnread(const Json& member) {
  const std::string_view health = base::FindString(member, {"health"});
  return health == "Unreachable" || health == "Unknown";
}

}  // namespace

struct LiveFleet::Documents {
  std::mutex mutex;
  uint64_t version = 1;
  std::map<std::string, Json> by_view;
  std::map<std::string, base::Error> refused;  // by view
};

/// Keeps a view's document from the events of its stream. Called on the feed's strand.
class LiveFleet::DocumentFollower final : public dashboard::Follower {
 public:
  DocumentFollower(std::string view, std::shared_ptr<Documents> documents)
      : view_(std::move(view)), documents_(std::move(documents)) {}

  void Refuse(const base::Error& error) override {
    const std::lock_guard lock(documents_->mutex);
    documents_->refused.insert_or_assign(view_, error);
    ++documents_->version;
  }

  bool Send(const std::shared_ptr<const std::string>& event) override {
    const size_t data = event->find(kDataMark);
    if (data == std::string::npos) return true;
    const auto parsed = base::ParseJson(std::string_view(*event).substr(data + kDataMark.size()), "the event of a view");
    if (!parsed) return false;
    const std::lock_guard lock(documents_->mutex);
    if (const Json* document = base::Find(*parsed, {"document"})) {
      documents_->by_view[view_] = *document;
    } else if (const Json* patch = base::Find(*parsed, {"patch"})) {
      base::ApplyMergePatch(documents_->by_view[view_], *patch);
    } else {
      return true;
    }
    ++documents_->version;
    return true;
  }

 private:
  const std::string view_;
  const std::shared_ptr<Documents> documents_;
};

base::Result<std::unique_ptr<LiveFleet>> LiveFleet::Connect(const HubOptions& options) {
  // The picture says what cannot be read; a log would be written across it.
  EVENKEEL_TRY(base::log::Configure(base::log::Level::kOff));
  client::HttpClientOptions glance;
  glance.request_timeout = kGlanceTimeout;
  glance.connect_timeout = kGlanceConnectTimeout;
  std::unique_ptr<LiveFleet> fleet(new LiveFleet());
  EVENKEEL_ASSIGN(fleet->hub_, ConnectToHub(options, glance));
  fleet->executor_ = base::NewThreadPool(1);
  fleet->sources_ = base::NewThreadPool(kMemberThreads);
  fleet->documents_ = std::make_shared<Documents>();
  controllers::distribution::Options distribution;
  distribution.ns = options.ns;
  if (!options.controller_name.empty()) distribution.controller_name = options.controller_name;
  const auto connect =
      [glance](const controllers::distribution::Cluster& member) -> base::Result<std::unique_ptr<client::Client>> {
    if (!member.connection) return base::Fail(member.connection.error());
    return client::NewHttpClient(*member.connection, glance);
  };
  fleet->feed_ = std::make_unique<dashboard::Feed>(dashboard::FeedContext{.hub = *fleet->hub_,
                                                                          .hub_name = fleet->hub_->Describe(),
                                                                          .executor = *fleet->executor_,
                                                                          .sources = *fleet->sources_,
                                                                          .random = base::Random(base::EntropySeed()),
                                                                          .distribution = std::move(distribution),
                                                                          .connect = connect});
  fleet->Follow(kFleetDocument);
  return fleet;
}

LiveFleet::~LiveFleet() = default;

void LiveFleet::Follow(const std::string& view) {
  if (followers_.contains(view)) return;
  const auto follower = std::make_shared<DocumentFollower>(view, documents_);
  followers_[view] = follower;
  feed_->Follow(view, follower);
}

void LiveFleet::FollowMembers(const std::string& only) {
  if (members_ && only_ == only) return;
  members_ = true;
  only_ = only;
  const std::lock_guard lock(documents_->mutex);
  ++documents_->version;
}

uint64_t LiveFleet::version() const {
  const std::lock_guard lock(documents_->mutex);
  return documents_->version;
}

FleetPicture LiveFleet::Look() {
  FleetPicture picture;
  std::vector<std::string> wanted;
  {
    const std::lock_guard lock(documents_->mutex);
    picture.version = documents_->version;
    const auto fleet = documents_->by_view.find(kFleetDocument);
    if (fleet == documents_->by_view.end()) return picture;
    picture.fleet = fleet->second;
    picture.complete = true;
    for (const auto& [name, entry] : base::FindObject(picture.fleet, {"clusters"})) {
      if (!members_ || (!only_.empty() && only_ != name)) continue;
      const std::string view = kMemberDocument + std::string(name);
      wanted.push_back(view);
      const auto document = documents_->by_view.find(view);
      if (document != documents_->by_view.end()) {
        picture.members[name] = document->second;
        // A view does not wait long for a member. What keeps the member silent is known later.
        picture.complete = picture.complete && base::FindString(document->second, {"health"}) != "Unknown";
      } else {
        const auto refused = documents_->refused.find(view);
        picture.complete = picture.complete && refused != documents_->refused.end();
        if (refused != documents_->refused.end()) picture.refused[name] = refused->second.message();
      }
    }
  }
  for (const std::string& view : wanted) Follow(view);
  return picture;
}

std::map<std::string, std::string> MissingMembers(const FleetPicture& picture, const std::string& only) {
  std::map<std::string, std::string> missing;
  for (const auto& [name, entry] : base::FindObject(picture.fleet, {"clusters"})) {
    if (!only.empty() && only != name) continue;
    const auto document = picture.members.find(name);
    const auto refused = picture.refused.find(name);
    const Json& said = document == picture.members.end() ? entry : document->second;
    if (IsUnread(said)) {
      missing[name] = std::string(base::FindString(said, {"message"})) + ": what is shown of it may be old or missing";
    } else if (document == picture.members.end()) {
      missing[name] =
          (refused == picture.refused.end() ? "it has not answered in time" : refused->second) + ": nothing of it is shown";
    }
  }
  return missing;
}

base::Status CheckPicture(const FleetPicture& picture, const std::string& member) {
  if (picture.fleet.is_null()) return base::Fail(base::Code::kUnavailable, "the hub has not answered in time");
  if (!base::FindBool(picture.fleet, {"hub", "reachable"})) {
    return base::Fail(base::Code::kUnavailable,
                      std::string(base::FindString(picture.fleet, {"hub", "name"})) +
                          " cannot be read: " + std::string(base::FindString(picture.fleet, {"hub", "message"})));
  }
  const base::JsonObject& clusters = base::FindObject(picture.fleet, {"clusters"});
  if (member.empty() || clusters.contains(member)) return {};
  std::string names;
  for (const auto& [name, entry] : clusters) names += (names.empty() ? "" : ", ") + std::string(name);
  return base::Fail(base::Code::kNotFound, "there is no cluster " + member + ": there are " + (names.empty() ? "none" : names));
}

}  // namespace evenkeel::cli
